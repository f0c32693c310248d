"""Made-up studies with a planted gap: what the instrument is tested on."""
