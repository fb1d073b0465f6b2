// Reads the messages that an activity answers or forwards. Clients describe them in attachments, or as block
// quotes in the HTML form of the message. The time is linear in the size of the body.

import { parseJson } from '../../../config/reader/json-text.ts';
import type { MessageParty, QuotedMessage } from '../../events/message-origin.ts';
import { listMember, memberOf, textMember } from '../payloads/payload-member.ts';
import { htmlText } from './html-text.ts';

const MAX_QUOTES = 10;
/** Maximum length of the HTML; further quotes are omitted. */
const MAX_HTML = 131_072;
const QUOTE_START = /<blockquote\s[^<>]*schema\.skype\.com\/(Reply|Forward)[^<>]*>/g;
const QUOTE_END = '</blockquote>';
const AUTHOR = /<strong\s[^<>]*>([^<]{0,300})<\/strong>/;
const TIME = /<span\s[^<>]*itemprop="time"[^<>]*>[^<]*<\/span>/;

export function quotedMessages(payload: unknown): readonly QuotedMessage[] {
  const quoted = listMember(payload, 'attachments').flatMap((attachment): readonly QuotedMessage[] => {
    const type = textMember(attachment, 'contentType');
    if (type === 'messageReference') return [answeredMessage(contentOf(attachment))];
    if (type === 'forwardedMessageReference') return [forwardedMessage(contentOf(attachment))];
    return type === 'text/html' ? quotesInHtml(textMember(attachment, 'content') ?? '') : [];
  });
  return quoted.slice(0, MAX_QUOTES);
}

const answeredMessage = (content: unknown): QuotedMessage => ({
  relation: 'answered',
  sender: senderIn(content, 'messageSender'),
  text: textMember(content, 'messagePreview'),
});

const forwardedMessage = (content: unknown): QuotedMessage => ({
  relation: 'forwarded',
  sender: senderIn(content, 'originalMessageSender'),
  text: htmlText(textMember(content, 'originalMessageContent') ?? ''),
});

function senderIn(content: unknown, path: string): MessageParty | undefined {
  const sender = memberOf(content, `${path}.user`) ?? memberOf(content, `${path}.application`);
  const id = textMember(sender, 'id');
  const name = textMember(sender, 'displayName');
  return id === undefined && name === undefined ? undefined : { id, name };
}

function contentOf(attachment: unknown): unknown {
  const content = memberOf(attachment, 'content');
  if (typeof content !== 'string') return content;
  try {
    return parseJson(content);
  } catch {
    return undefined;
  }
}

function quotesInHtml(whole: string): readonly QuotedMessage[] {
  const html = whole.slice(0, MAX_HTML);
  const quotes: QuotedMessage[] = [];
  for (const { 0: start, 1: kind, index } of html.matchAll(QUOTE_START)) {
    const from = index + start.length;
    const end = html.indexOf(QUOTE_END, from);
    if (end === -1 || quotes.length === MAX_QUOTES) break;
    const quote = html.slice(from, end);
    const author = AUTHOR.exec(quote)?.[1];
    const text = htmlText(quote.replace(AUTHOR, '').replace(TIME, ''));
    quotes.push({
      relation: kind === 'Reply' ? 'answered' : 'forwarded',
      sender: author === undefined ? undefined : { name: htmlText(author) },
      text,
    });
  }
  return quotes;
}
