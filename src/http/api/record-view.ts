// Views of API records. The full view returns stored texts unchanged. The brief view (`?view=brief`) redacts and cuts texts
// from outside; lists on screens use it.
//
// RV1 (A9)  requests from the inspector always get the brief view: the cookie grants less than the key (IA1).

import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { oneOf } from '../../../actors/base/errors/query-values.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import { redactedJson } from '../../../actors/base/errors/redacted-json.ts';

const views = ['full', 'brief'] as const;
const MAX_NAME = 200;
const MAX_NOTE = 500;

export class RecordView {
  readonly #redactor: Redactor | undefined;

  /** With a redactor the view is brief. */
  constructor(redactor?: Redactor) {
    this.#redactor = redactor;
  }

  get isBrief(): boolean {
    return this.#redactor !== undefined;
  }

  /** Returns the text for this view, null if undefined. `isCut` marks a text that was cut before. */
  text(text: string, maxChars: number, isCut?: boolean): string;
  text(text: string | undefined, maxChars: number, isCut?: boolean): string | null;
  text(text: string | undefined, maxChars: number, isCut = false): string | null {
    if (text === undefined) return null;
    return this.#redactor?.excerpt(text, maxChars, isCut) ?? text;
  }

  /** Returns values from a file, redacted in the brief view. */
  json<T>(value: T): T {
    const redactor = this.#redactor;
    return redactor === undefined ? value : redactedJson(value, (text) => redactor.redact(text));
  }

  /** Returns a name, at most 200 characters in the brief view. */
  name(text: string): string;
  name(text: string | undefined): string | null;
  name(text: string | undefined): string | null {
    return this.text(text, MAX_NAME);
  }

  /** Returns a note, at most 500 characters in the brief view. */
  note(text: string): string;
  note(text: string | undefined): string | null;
  note(text: string | undefined): string | null {
    return this.text(text, MAX_NOTE);
  }
}

export const fullView = new RecordView();

/** Separates `view` from the other parameters (RV1). Throws InvalidQueryError for an unknown view. */
export function viewIn(
  query: string,
  isFromInspector: boolean,
): { readonly isBrief: boolean; readonly rest: string } {
  const values = new URLSearchParams(query);
  const [view = 'full', ...others] = values.getAll('view');
  if (others.length > 0) throw new InvalidQueryError('give view once');
  const isBrief = oneOf('view', views, view) === 'brief' || isFromInspector;
  values.delete('view');
  return { isBrief, rest: values.toString() };
}
