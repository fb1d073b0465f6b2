// Reads texts from the file as bytes. The driver ends the whole process over a text that is no UTF-8 (libsql 0.5), which
// no program writes, but a damaged disk may hold. Decoding them here costs half a microsecond for each text.

import { isUtf8 } from 'node:buffer';
import type Database from 'libsql';

/** Where the texts are among the columns of a row, and the statement that gives their bytes. */
export interface TextColumns {
  readonly sql: string;
  readonly texts: readonly number[];
}

/** Undefined for a statement that gives no text. */
export function textColumns(sql: string, statement: Database.Statement): TextColumns | undefined {
  const columns = statement.columns();
  const texts = columns.flatMap(({ type }, index) => (type === 'TEXT' ? index : []));
  if (texts.length === 0) return undefined;
  const names = columns.map((_, index) => `column${index}`);
  const given = names.map((name, index) => (texts.includes(index) ? `CAST(${name} AS BLOB)` : name));
  return { sql: `WITH found (${names.join(', ')}) AS (${sql}) SELECT ${given.join(', ')} FROM found`, texts };
}

/** Puts the texts into their places; what is none is replaced, and told of by its column. */
export function readTexts(
  row: unknown[],
  texts: readonly number[],
  onDamage: (column: number) => void,
): void {
  for (const column of texts) {
    const bytes = row[column];
    if (!(bytes instanceof Uint8Array)) continue;
    if (!isUtf8(bytes)) onDamage(column);
    row[column] = (bytes as Buffer).toString();
  }
}
