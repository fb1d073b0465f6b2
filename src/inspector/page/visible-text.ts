// What strangers have written, as it is shown: nothing in it is unseen, and nothing turns the order of what is seen.

/** Controls but for line ends and tabs, marks that turn the order, ends of lines that are none, and halves of pairs. */
const HIDDEN = /[^\P{Cc}\n\r\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]|\p{Cs}/gu;
/** In a name there is nothing that is not seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/** A text of any length. */
export function visible(text: string): string {
  return text.replace(HIDDEN, written);
}

/** One line of at most `most` characters. */
export function visibleName(text: string, most = 200): string {
  const shown = text.slice(0, most).replace(UNSEEN, written);
  return text.length > most ? `${shown}…` : shown;
}

function written(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Formats JSON over several lines; other text is unchanged. */
export function readableJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
