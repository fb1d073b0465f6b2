// Message origin: sender, chat, and the messages that it answers, quotes or forwards. Jobs, conversation
// histories and models receive it. People choose names and texts; the platform assigns ids.

export interface MessageParty {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

export interface QuotedMessage {
  /** `answered`: the message is a reply to it. `quoted`: the message concerns it, or a part of it. */
  readonly relation: 'answered' | 'quoted' | 'forwarded';
  readonly sender?: MessageParty | undefined;
  /** Undefined if the text of the message itself is this text. */
  readonly text?: string | undefined;
}

/** Member names as in the request to agents. */
export interface MessageOrigin {
  readonly sender?: (MessageParty & { readonly is_bot?: true | undefined }) | undefined;
  readonly chat?: MessageParty | undefined;
  readonly quoted?: readonly QuotedMessage[] | undefined;
}

/** Event data that forms the origin. */
export interface OriginData {
  readonly user: string | undefined;
  readonly senderName?: string | undefined;
  readonly isByBot?: boolean | undefined;
  readonly channel: string | undefined;
  readonly channelName?: string | undefined;
  readonly quoted?: readonly QuotedMessage[] | undefined;
}

const MAX_NAME = 200;
const MAX_QUOTED_MESSAGES = 10;
/** Maximum length per quoted text, in UTF-16 units. */
const MAX_QUOTED_TEXT = 8_192;
/** Maximum length in histories. */
const MAX_STORED_TEXT = 500;

/** Returns the origin; undefined for unknown senders, and for manual runs, which have no chat. */
export function messageOrigin(data: OriginData): MessageOrigin | undefined {
  const { user, senderName, isByBot, channel, channelName, quoted = [] } = data;
  const isKnown = senderName !== undefined || (user !== undefined && channel !== undefined);
  if (!isKnown) return undefined;
  const sender = partyOf(user, senderName);
  const chat = partyOf(channel, channelName);
  return {
    sender: { ...sender, ...(isByBot === true && { is_bot: true }) },
    ...(Object.keys(chat).length > 0 && { chat }),
    ...(quoted.length > 0 && { quoted: quotedWithin(quoted, MAX_QUOTED_TEXT) }),
  };
}

/** Returns the origin for histories, with shorter quotations. */
export function storedOrigin(origin: MessageOrigin): MessageOrigin {
  return origin.quoted === undefined
    ? origin
    : { ...origin, quoted: quotedWithin(origin.quoted, MAX_STORED_TEXT) };
}

function quotedWithin(quoted: readonly QuotedMessage[], most: number): readonly QuotedMessage[] {
  return quoted.slice(0, MAX_QUOTED_MESSAGES).map(({ relation, sender, text }) => {
    const party = partyOf(sender?.id, sender?.name);
    return {
      relation,
      ...(Object.keys(party).length > 0 && { sender: party }),
      ...(text !== undefined && { text: cut(text, most) }),
    };
  });
}

function partyOf(id: string | undefined, name: string | undefined): MessageParty {
  return {
    ...(id !== undefined && { id: id.slice(0, MAX_NAME) }),
    ...(name !== undefined && name !== '' && { name: name.slice(0, MAX_NAME).toWellFormed() }),
  };
}

const cut = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
