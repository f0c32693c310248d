"""What the made-up release says: scores that give the numbers of the paper's tables.

Written down from the paper (Appendix B, I, J and O, tables 1, 4, 5 and 6) by hand, apart from
the program's own data file of them.
"""

from __future__ import annotations

SONNET_46, SONNET_45 = "claude-sonnet-4-6", "claude-sonnet-4-5"
OPUS, HAIKU = "claude-opus-4-1", "claude-haiku-4-5"
ANTHROPIC = (SONNET_46, SONNET_45, OPUS, HAIKU)
KIMI = "moonshotai-Kimi-K2-6"

# Appendix B: mean of the control, mean of the session, over 12 positions of 5 probes.
PANEL = {
    KIMI: (2.40, 1.40),
    "nvidia-nemotron-3-super-120b-a12b": (2.53, 1.70),
    HAIKU: (2.23, 1.40),
    SONNET_46: (2.38, 1.67),
    "gpt-5-mini": (2.63, 1.98),
    "deepseek-v3": (2.38, 1.73),
    SONNET_45: (1.47, 0.83),
    "mistral-large": (2.20, 1.70),
    "gpt-4-1": (2.47, 2.00),
    "mistral-medium": (1.53, 1.07),
    "command-a": (2.82, 2.35),
    "gemini-2-5-flash": (2.22, 1.78),
    "qwen3-235b": (2.27, 1.87),
    "gemini-2-5-pro": (1.73, 1.35),
    "gpt-4o": (2.95, 2.57),
    "nvidia-nemotron-3-nano-30b": (1.33, 1.00),
    "qwen3-next-80b": (1.05, 0.75),
    "gpt-5": (2.37, 2.08),
    "mistral-small": (2.75, 2.48),
    "nvidia-nemotron-super-49b": (2.63, 2.38),
    OPUS: (0.88, 0.93),
    "llama-3-3-70b": (2.62, 2.65),
    "command-r7b": (2.35, 2.50),
}

# Table 5, in fifths: gap of the first judge, gap of the second, at the late position.
AUDIT = {
    SONNET_45: (6, 7), KIMI: (5, 1), "mistral-large": (4, 5), HAIKU: (4, -1),
    "qwen3-235b": (4, 1), "command-a": (3, 5), "nvidia-nemotron-3-nano-30b": (3, 6),
    "gpt-5": (3, 4), SONNET_46: (2, 2), "nvidia-nemotron-3-super-120b-a12b": (2, 4),
    "mistral-medium": (1, 2), "gpt-4-1": (1, 1), "command-r7b": (0, -2),
    "gemini-2-5-flash": (0, -2), "gemini-2-5-pro": (0, 1), "mistral-small": (0, 2),
    "llama-3-3-70b": (-1, 0), OPUS: (-2, -1), "deepseek-v3": (-5, -5),
}  # fmt: skip

# Table 4, in 25ths: the gap at each turn.
TURNS = (1, 5, 25, 100, 250, 500, 1000, 1500)
ONSET = {
    SONNET_45: (17, 11, 16, 17, 18, 18, 23, 21),
    SONNET_46: (1, 1, 17, 18, 23, 19, 25, 15),
    OPUS: (2, -2, -2, -6, -3, 3, 3, -3),
    HAIKU: (6, 16, 20, 25, 15, 23, 27, 20),
}

# Table 6, in tenths: the score of each probe.
FRAMING = {"with_framing": (3, 2, 8, 10, 10), "without_framing": (12, 0, 9, 10, 15)}

# Appendix I, in 60ths: the anchor as a user turn, and in the system prompt (V3).
PLACEMENT = {SONNET_46: (180, 171), SONNET_45: (180, 154), OPUS: (166, 150), HAIKU: (173, 164)}

# Appendix H, in fifths: small, medium, large.
SIZES = {
    SONNET_46: (15, 15, 15), SONNET_45: (15, 15, 15), HAIKU: (15, 15, 15), OPUS: (14, 14, 14),
    "gemini-2-5-pro": (13, 14, 14), "deepseek-v3": (15, 15, 15),
}  # fmt: skip

# Appendix O, in 125ths: control and session, by the first judge and the second.
HAIKU_AGAIN = {"filler": (285, 287), "claude_session": (172, 185)}

# Appendix E: how many of 100 paraphrases keep the contract, control less session.
COMPLIANCE_GAP = {SONNET_46: 20, SONNET_45: 38, OPUS: 18, HAIKU: 53}
# Table 1, first session: replies of the session are so many times as long.
LENGTH_RATIO = {SONNET_46: 6.83, SONNET_45: 7.47, OPUS: 7.85, HAIKU: 2.27}
