// How much of a conversation is kept between its turns (actors/automation/conversations/conversation-job.ts). Each turn reads and writes all of it,
// so it is bounded; an agent can remember no more than that, whatever its file says.

/** Messages. */
export const KEPT_MESSAGES = 40;
/** Of all of them together, in UTF-16 units. */
export const KEPT_CHARACTERS = 32_768;
