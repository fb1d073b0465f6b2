// Text of a line in one style.

export type TextStyle = 'bold' | 'italic' | 'strike' | 'code';

/** Text in one style. */
export interface TextSpan {
  readonly text: string;
  /** From the outermost to the innermost. */
  readonly styles: readonly TextStyle[];
  /** Address of a link: http, https or mailto. */
  readonly href?: string | undefined;
}
