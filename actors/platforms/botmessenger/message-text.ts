// Reads written text from messages: text, captions, polls, checklists, and data from web apps. Textless
// messages contain media, or report chat changes.

import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';

/** Members that contain media. */
const MEDIA = [
  'voice',
  'audio',
  'video',
  'video_note',
  'photo',
  'animation',
  'sticker',
  'document',
  'location',
  'venue',
  'contact',
  'story',
  'dice',
  'game',
  'paid_media',
] as const;

/** Returns the text; undefined if missing. */
export function writtenTextIn(message: unknown): string | undefined {
  return (
    textMember(message, 'text', 'caption', 'web_app_data.data') ??
    listText(message, 'poll.question', 'poll.options') ??
    listText(message, 'checklist.title', 'checklist.tasks')
  );
}

/** Returns the media kind; undefined if missing. */
export function mediaIn(message: unknown): string | undefined {
  return MEDIA.find((kind) => memberOf(message, kind) !== undefined);
}

/** Returns title and items as lines. */
function listText(message: unknown, titlePath: string, itemsPath: string): string | undefined {
  const title = textMember(message, titlePath);
  if (title === undefined) return undefined;
  const lines = listMember(message, itemsPath).flatMap((item) => textMember(item, 'text') ?? []);
  return [title, ...lines.map((line) => `- ${line}`)].join('\n');
}
