// Views of API records. The full view returns stored texts unchanged. The brief view (`?view=brief`) is for
// screens: it redacts and cuts texts of senders, agents and servers.
//
// RV1  Requests from the inspector always get the brief view (A9, ARCHITECTURE.md): they are authenticated by
//      its cookie, which grants less than the API key (IA1, inspector/access.ts).

import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { parseChoice } from '../../../actors/base/errors/query-values.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import { redactJson } from '../../../actors/base/errors/redacted-json.ts';

const views = ['full', 'brief'] as const;
const MAX_NAME = 200;
const MAX_NOTE = 500;

export class RecordView {
  readonly #redactor: Redactor | undefined;

  /** With a redactor, creates the brief view; otherwise the full view. */
  constructor(redactor?: Redactor) {
    this.#redactor = redactor;
  }

  get isBrief(): boolean {
    return this.#redactor !== undefined;
  }

  /** Returns the text in this view; null for undefined. `isCut` is true if the text was already cut. */
  text(text: string, maxChars: number, isCut?: boolean): string;
  text(text: string | undefined, maxChars: number, isCut?: boolean): string | null;
  text(text: string | undefined, maxChars: number, isCut = false): string | null {
    if (text === undefined) return null;
    return this.#redactor?.excerpt(text, maxChars, isCut) ?? text;
  }

  /** Returns values from a configuration file; the brief view redacts them. */
  json<T>(value: T): T {
    const redactor = this.#redactor;
    return redactor === undefined ? value : redactJson(value, (text) => redactor.redact(text));
  }

  /** Returns a name; the brief view cuts it after MAX_NAME characters. */
  name(text: string): string;
  name(text: string | undefined): string | null;
  name(text: string | undefined): string | null {
    return this.text(text, MAX_NAME);
  }

  /** Returns a note; the brief view cuts it after MAX_NOTE characters. */
  note(text: string): string;
  note(text: string | undefined): string | null;
  note(text: string | undefined): string | null {
    return this.text(text, MAX_NOTE);
  }
}

export const fullView = new RecordView();

/**
 * Parses the parameter `view` (RV1). `rest` is the query with all other parameters. Throws InvalidQueryError
 * if the view is unknown.
 */
export function viewIn(
  query: string,
  isFromInspector: boolean,
): { readonly isBrief: boolean; readonly rest: string } {
  const values = new URLSearchParams(query);
  const [view = 'full', ...others] = values.getAll('view');
  if (others.length > 0) throw new InvalidQueryError('give view once');
  const isBrief = parseChoice('view', views, view) === 'brief' || isFromInspector;
  values.delete('view');
  return { isBrief, rest: values.toString() };
}
