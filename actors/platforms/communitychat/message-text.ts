// Reads text from the target message of a menu command: content, embeds, text components, poll, and forwarded
// messages. Programs often write only embeds.

import { joinTexts } from '../payloads/join-texts.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';

/** Maximum text length, above the platform's limit for content plus embeds. */
const MAX_TEXT = 16_384;
const MAX_DEPTH = 6;
/** Embed type for content by programs. */
const RICH = 'rich';

/** Returns the text; '' if missing. */
export function textOfMessage(message: unknown): string {
  const texts = [
    ...ownTexts(message),
    ...componentTexts(message, 0),
    pollText(memberOf(message, 'poll')),
    ...forwardedTexts(message),
  ];
  return joined(texts);
}

/** Returns forwarded texts. */
function forwardedTexts(message: unknown): readonly string[] {
  const snapshots = listMember(message, 'message_snapshots');
  return snapshots.map((snapshot) => joined(ownTexts(memberOf(snapshot, 'message'))));
}

/** Returns content and embeds, excluding link previews. */
function ownTexts(message: unknown): readonly string[] {
  const content = textMember(message, 'content') ?? '';
  const isOwn = (embed: unknown) => content.trim() === '' || (textMember(embed, 'type') ?? RICH) === RICH;
  return [content, ...listMember(message, 'embeds').filter(isOwn).map(embedText)];
}

function embedText(embed: unknown): string {
  const fields = listMember(embed, 'fields').map((field) =>
    [textMember(field, 'name'), textMember(field, 'value')].filter((part) => part).join(': '),
  );
  const texts = ['author.name', 'title', 'description'].map((path) => textMember(embed, path) ?? '');
  return joined([...texts, ...fields, textMember(embed, 'footer.text') ?? '']);
}

/** Returns text components, including those in containers and sections. */
function componentTexts(parent: unknown, depth: number): readonly string[] {
  if (depth > MAX_DEPTH) return [];
  return listMember(parent, 'components').flatMap((component) => [
    textMember(component, 'content') ?? '',
    ...componentTexts(component, depth + 1),
  ]);
}

function pollText(poll: unknown): string {
  const question = textMember(poll, 'question.text');
  const answers = listMember(poll, 'answers').map((each) => `- ${textMember(each, 'poll_media.text') ?? ''}`);
  return question === undefined ? '' : joined([question, ...answers]);
}

const joined = (parts: readonly string[]) => joinTexts(parts, MAX_TEXT);
