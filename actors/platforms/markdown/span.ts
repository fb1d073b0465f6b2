// Text of a line in one style.

export type Style = 'bold' | 'italic' | 'strike' | 'code';

/** Text in one style. */
export interface Span {
  readonly text: string;
  /** From the outermost to the innermost. */
  readonly styles: readonly Style[];
  /** Address of a link: http, https or mailto. */
  readonly href?: string | undefined;
}
