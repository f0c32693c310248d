"""The events that clients are known to write, by the part of their name before the dot.

The one thing to know: the set is open. An event that is not here is counted by its name.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "session": """
        start resume shutdown idle error info warning title_changed task_complete handoff
        model_change mode_changed mode_notice_delivered plan_changed todos_changed
        context_changed context_cleared compaction_start compaction_complete truncation
        snapshot_rewind usage_info usage_record usage_checkpoint workspace_file_changed
        remote_steerable_changed schedule_created schedule_cancelled schedule_rearmed
        autopilot_objective_changed permissions_changed limits_changed session_limits_changed
        auto_mode_resolved managed_settings_resolved managed_settings_enforced tools_updated
        background_tasks_changed skills_loaded custom_agents_updated mcp_servers_loaded
        mcp_server_status_changed extensions_loaded binary_asset fusion_route_started
        fusion_route_failed fusion_resolved fusion_completed
    """,
    "assistant": """
        turn_start turn_end intent reasoning reasoning_delta message message_start
        message_delta streaming_delta tool_call_delta server_tool_progress idle usage
        fusion_phase_started fusion_phase_completed fusion_phase_failed
    """,
    "user": "message",
    "system": "message notification",
    "tool": """
        execution_start execution_progress execution_partial_result execution_complete
        user_requested
    """,
    "subagent": "started configured completed failed selected deselected",
    "hook": "start progress end",
    "skill": "invoked context_delivered_ref",
    "permission": "requested completed",
    "user_input": "requested completed",
    "elicitation": "requested completed",
    "sampling": "requested completed",
    "external_tool": "requested completed",
    "exit_plan_mode": "requested completed",
    "auto_mode_switch": "requested completed",
    "command": "queued execute completed",
    "commands": "changed",
    "capabilities": "changed",
    "pending_messages": "modified",
    "tool_search": "activated",
    "model": """
        turn_started turn_ended model_call_started model_call_success call_failure call_finished
        message messages_snapshot response
    """,
}

KNOWN: Final = frozenset(
    {"abort", *(f"{head}.{name}" for head, names in _NAMES.items() for name in names.split())}
)
"""The types of all events of which something is known."""
