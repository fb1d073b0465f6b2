// Form of an agent's answers: Markdown, which the gateway converts to the dialect of each chat; the dialect
// of the chat itself; or text without markup.

/** Markdown, the dialect of the chat, and text without markup. */
export const textFormats = ['markdown', 'native', 'plain'] as const;

export type TextFormat = (typeof textFormats)[number];
