// Views of a record. The full view has every text as it is stored. The brief view, `?view=brief`, is for lists on a
// screen: texts from outside lose the secrets of the configuration and are cut.
//
// RV1 (A9)  the inspector's page reads brief views only: its cookie is good for less than the key (IA1).

import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import { oneOf } from '../../../actors/base/errors/query-values.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';

const views = ['full', 'brief'] as const;
const MAX_NAME = 200;
const MAX_NOTE = 500;

export class RecordView {
  readonly #redactor: Pick<Redactor, 'excerpt'> | undefined;

  /** Creates the brief view, or without a redactor the full one. */
  constructor(redactor?: Pick<Redactor, 'excerpt'>) {
    this.#redactor = redactor;
  }

  get isBrief(): boolean {
    return this.#redactor !== undefined;
  }

  /** Returns a text as the view has it, null for none. `isCut`: it is only the beginning of a text. */
  text(text: string, maxChars: number, isCut?: boolean): string;
  text(text: string | undefined, maxChars: number, isCut?: boolean): string | null;
  text(text: string | undefined, maxChars: number, isCut = false): string | null {
    if (text === undefined) return null;
    return this.#redactor?.excerpt(text, maxChars, isCut) ?? text;
  }

  /** Returns a name or a key. */
  name(text: string): string;
  name(text: string | undefined): string | null;
  name(text: string | undefined): string | null {
    return this.text(text, MAX_NAME);
  }

  /** Returns the reason of a state. */
  note(text: string): string;
  note(text: string | undefined): string | null;
  note(text: string | undefined): string | null {
    return this.text(text, MAX_NOTE);
  }
}

export const fullView = new RecordView();

/** Splits the view off a query. Throws InvalidQueryError for an unknown one. */
export function viewIn(query: string): { readonly isBrief: boolean; readonly rest: string } {
  const values = new URLSearchParams(query);
  const [view = 'full', ...others] = values.getAll('view');
  if (others.length > 0) throw new InvalidQueryError('give view once');
  const isBrief = oneOf('view', views, view) === 'brief';
  values.delete('view');
  return { isBrief, rest: values.toString() };
}
