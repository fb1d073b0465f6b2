// Splits a text into parts whose converted forms fit into messages.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import { MAX_PARTS, type SplitOptions, splitText } from '../../events/outbox/split-text.ts';

const MIN_PART = 64;
/** Size of the parts when a part is split again. */
const SHARE = 0.75;

/**
 * Returns the form in which the text is rendered, for messages of up to `limit` characters. A text that needs
 * too many messages is not converted: it is truncated and rendered again.
 */
export function renderedFormat(
  { text, format = 'markdown' }: Pick<OutboundMessage, 'text' | 'format'>,
  limit: number,
): TextFormat {
  return text.length > (MAX_PARTS + 1) * limit ? 'native' : format;
}

/**
 * Returns the converted parts of the text. `sizeOf` returns the size of a converted part. A part that grows
 * beyond the limit is split again.
 */
export function convertedParts<Converted>(
  text: string,
  options: SplitOptions,
  convert: (part: string) => Converted,
  sizeOf: (converted: Converted) => number,
): readonly Converted[] {
  const { limit, markSpace = 0 } = options;
  return splitText(text, options).flatMap((part, index) => {
    const capacity = index === 0 ? limit - markSpace : limit;
    const converted = convert(part);
    if (sizeOf(converted) <= capacity) return [converted];
    for (let size = Math.floor(capacity * SHARE); size >= MIN_PART; size = Math.floor(size * SHARE)) {
      const parts = splitText(part, { ...options, limit: size, markSpace: 0 }).map(convert);
      if (parts.every((each) => sizeOf(each) <= capacity)) return parts;
    }
    return [converted];
  });
}
