// Reads submitted modal forms. The gateway opens none, but other parts of the app can.

import { memberOf, textMember } from '../payloads/payload-member.ts';
import { valueIn } from './choice.ts';
import { decodeEntities } from './text.ts';

export interface WorkspaceForm {
  /** Callback id, which may be a command. */
  readonly name: string;
  /** Values by field id, or by block id if field ids repeat. */
  readonly values: Readonly<Record<string, string>>;
}

const MAX_FIELDS = 100;
const MAX_NAME = 200;

/** Returns the form; undefined if all values are missing. */
export function formIn(payload: unknown): WorkspaceForm | undefined {
  const blocks = Object.entries((memberOf(payload, 'view.state.values') ?? {}) as object);
  const values: Record<string, string> = Object.create(null);
  for (const [block, fields] of blocks.slice(0, MAX_FIELDS))
    for (const [field, element] of Object.entries((fields ?? {}) as object).slice(0, MAX_FIELDS)) {
      const name = values[field] === undefined ? field : block;
      const value = decodeEntities(valueIn(element));
      if (name.length <= MAX_NAME && value !== '') values[name] = value;
    }
  if (Object.keys(values).length === 0) return undefined;
  return { name: textMember(payload, 'view.callback_id') ?? '', values: { ...values } };
}
