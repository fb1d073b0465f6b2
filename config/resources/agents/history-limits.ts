// Limits for the stored history of a conversation (actors/automation/conversations/job.ts), which is read and
// written for each event. An agent's memory cannot exceed these limits, because it is taken from the history.

/** Maximum messages of a conversation. */
export const MAX_HISTORY_MESSAGES = 40;
/** Maximum total length of these messages, in UTF-16 units. */
export const MAX_HISTORY_CHARACTERS = 32_768;
