// Writes styled lines as text with entities, the platform's form of styles. Unlike its markup, which the
// platform refuses if it is invalid, entities need no escapes, and any text is valid.

import type { TextSpan, TextStyle } from '../markdown/span.ts';
import { isCode, type StyledLine } from '../markdown/styled-lines.ts';

/** Style of a range, in UTF-16 units. */
export interface Entity {
  readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'pre' | 'text_link';
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
  readonly language?: string;
}

export interface EntityText {
  readonly text: string;
  readonly entities: readonly Entity[];
}

const TYPES = {
  bold: 'bold',
  italic: 'italic',
  strike: 'strikethrough',
  code: 'code',
} as const satisfies Record<TextStyle, Entity['type']>;

const LANGUAGE = /^[\w+#.-]{1,40}/;

export function entityText(lines: readonly StyledLine[]): EntityText {
  const writer = new EntityWriter();
  for (const [index, line] of lines.entries()) {
    if (index > 0) writer.text += '\n';
    if (isCode(line)) writer.addCode(line.code, LANGUAGE.exec(line.info)?.[0]);
    else for (const span of line) writer.addSpan(span);
  }
  return { text: writer.text, entities: writer.entities };
}

class EntityWriter {
  text = '';
  readonly entities: Entity[] = [];

  addCode(code: string, language: string | undefined): void {
    this.#mark({ type: 'pre', ...(language !== undefined && { language }) }, code.length);
    this.text += code;
  }

  addSpan({ text, styles, href }: TextSpan): void {
    // The platform excludes styles from code.
    const types = styles.includes('code') ? (['code'] as const) : styles.map((style) => TYPES[style]);
    for (const type of types) this.#mark({ type }, text.length);
    if (href !== undefined) this.#mark({ type: 'text_link', url: href }, text.length);
    this.text += text;
  }

  /** Extends the last entity of the same kind if it ends here. */
  #mark(entity: Pick<Entity, 'type' | 'url' | 'language'>, length: number): void {
    const offset = this.text.length;
    const at = this.entities.findLastIndex(
      (each) => each.type === entity.type && each.url === entity.url && each.offset + each.length === offset,
    );
    const last = this.entities[at];
    if (length === 0) return;
    if (last !== undefined && entity.type !== 'pre')
      this.entities[at] = { ...last, length: last.length + length };
    else this.entities.push({ ...entity, offset, length });
  }
}

/** Beginning of a mention. Its name may be in another style. */
const MENTION = /(?<![\p{L}\p{N}_])@/gu;
/** Word joiner: zero width, no line break. */
const INVISIBLE = '\u2060';

/** Returns the text with an invisible character in each mention, which then notifies no person. */
export function withoutMentions({ text, entities }: EntityText): EntityText {
  const points = [...text.matchAll(MENTION)].map(({ index }) => index + 1);
  const pointsBefore = (at: number) => points.filter((point) => point <= at).length;
  return {
    text: text.replace(MENTION, (mark) => mark + INVISIBLE),
    entities: entities.map((entity) => {
      const offset = entity.offset + pointsBefore(entity.offset);
      const end = entity.offset + entity.length;
      return { ...entity, offset, length: end + pointsBefore(end) - offset };
    }),
  };
}
