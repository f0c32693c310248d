"""Beyond one machine: prefix groups on the nodes of a Ray cluster, with one hub and one store."""

from __future__ import annotations

from contextecho.engine.spread.collecting import Place, collect_on
from contextecho.engine.spread.ray_cluster import check_place

__all__ = ["Place", "check_place", "collect_on"]
