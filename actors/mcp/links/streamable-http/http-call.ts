// One request to a Streamable HTTP server: its POST, the answer as JSON or as a stream of events, and, when
// the stream breaks before the answer, its resumption by GET with Last-Event-ID, where the era has that. It ends in
// exactly one of: the answer, `onUndelivered`, or `destroy` by its owner. (MCP 2025-11-25, Transports, "Resumability
// and redelivery"; gone since 2026-07-28.)

import type { Linked } from '../../../base/bounds/linked-list.ts';
import { ConnectionLostError, type GatewayError } from '../../../base/errors/errors.ts';
import type { LargeMessage } from '../../jsonrpc/large-message.ts';
import { reconnectDelayMs } from '../http/reconnect-delay.ts';
import {
  mayBeCarriedOut,
  plainUrl,
  protocolError,
  type Refusal,
  refusalError,
  sessionGoneError,
} from '../http/remote-errors.ts';
import type { RemoteEvents, RemoteRequest } from '../http/remote-request.ts';
import {
  mediaType,
  type RemoteOptions,
  type RemoteSession,
  type RequestParts,
} from '../http/remote-session.ts';
import type { CallId } from '../link.ts';
import { MessageBuffer } from '../message-buffer.ts';
import { type SseCursor, SseParser } from '../sse/sse-parser.ts';
import { isSessionGone } from './session-gone.ts';

const MAX_RESUME_FAILURES = 6;
/** A server should end the stream after the answer. One that does not keeps its socket only this long. */
const LINGER_MS = 1_000;

export interface HttpCallOptions extends Pick<RemoteOptions, 'maxMessageBytes' | 'redactor' | 'isAnswerTo'> {
  /** Whether a broken stream is taken up again after its last event; else it ends the call. */
  readonly canResume: boolean;
}

export interface HttpCallEvents {
  onMessage(bytes: Buffer): void;
  onOversized(size: number, id: string | undefined, requestId: string | undefined): void;
  onUndelivered(error: GatewayError, wasCarriedOut: boolean): void;
  onSessionGone(error: GatewayError): void;
  /** The call holds no request and no timer any more; not called after `destroy`. */
  onOver(): void;
}

export class HttpCall implements Linked<HttpCall> {
  /** Its owner keeps its calls in a list. */
  previous: HttpCall | undefined;
  next: HttpCall | undefined;
  readonly id: CallId;
  readonly #session: RemoteSession;
  readonly #options: HttpCallOptions;
  readonly #events: HttpCallEvents;
  readonly #cursor: SseCursor = { lastEventId: '', retryMs: undefined };
  #request: RemoteRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Resumptions that got no stream, since the last that did. */
  #failures = 0;
  /** Streams that ended without anything new. A server may make us poll as long as it likes. */
  #quietRounds = 0;
  #isAccepted = false;
  #hasAnswer = false;
  #isOver = false;

  constructor(session: RemoteSession, options: HttpCallOptions, call: CallId, events: HttpCallEvents) {
    this.#session = session;
    this.#options = options;
    this.id = call;
    this.#events = events;
  }

  /** The server has not accepted it yet, so it may still turn out not to know the session. */
  get isUnanswered(): boolean {
    return !this.#isOver && !this.#isAccepted;
  }

  start(post: RequestParts): void {
    this.#request = this.#session.request(post, this.#answerToPost());
  }

  destroy(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
  }

  #answerToPost(): RemoteEvents {
    const { maxMessageBytes } = this.#options;
    let json: MessageBuffer | undefined;
    let stream: SseParser | undefined;
    return {
      onAccepted: (head) => {
        this.#isAccepted = true;
        this.#session.learn(head);
        const type = mediaType(head);
        if (head.status === 202 || head.status === 204)
          this.#refuse(`answered ${head.status} to a request, which leaves it without an answer`);
        else if (type === 'text/event-stream') stream = this.#parser();
        else if (isJson(type)) json = new MessageBuffer(maxMessageBytes);
        else
          this.#refuse(
            `answered with content type ${JSON.stringify(type)} instead of JSON or an event stream`,
          );
      },
      onData: (chunk, turn) => {
        json?.append(chunk);
        return stream?.feed(chunk, turn) ?? chunk.length;
      },
      onEnd: () => {
        if (json !== undefined) this.#onJson(json);
        else this.#onStreamOver(new ConnectionLostError(this.#tale('ended before the answer')));
      },
      onRefused: (refusal) => this.#onRefused(refusal),
      onFailed: (error, wasSent) => {
        if (stream !== undefined) this.#onStreamOver(error);
        else this.#giveUp(error, wasSent);
      },
    };

    function isJson(type: string): boolean {
      return type === 'application/json' || type.endsWith('+json');
    }
  }

  #onJson(body: MessageBuffer): void {
    if (body.length === 0) {
      this.#refuse('answered a request with an empty body');
      return;
    }
    const taken = body.take();
    this.#deliver(Buffer.isBuffer(taken) ? withoutLineEnd(taken) : taken, true);
    if (this.#hasAnswer) this.#finish();
    else {
      this.#request?.distrust();
      this.#refuse('answered a request with a message that is no answer to it');
    }
  }

  #parser(): SseParser {
    return new SseParser(this.#options.maxMessageBytes, this.#cursor, {
      onEvent: (type, data) => {
        if (type === 'message') this.#deliver(data);
      },
      onOversizedEvent: (_type, remains) => this.#deliver(remains),
    });
  }

  #deliver(message: Buffer | LargeMessage, isWholeBody = false): void {
    // The owner may have given up the call while the events of one chunk were being handed out.
    if (this.#isOver) return;
    this.#quietRounds = 0;
    const isAnswer = Buffer.isBuffer(message)
      ? this.#options.isAnswerTo(message, this.id)
      : message.id === String(this.id);
    if (isAnswer && !this.#hasAnswer) {
      this.#hasAnswer = true;
      if (!isWholeBody) this.#timer = setTimeout(() => this.#finish(), LINGER_MS);
    }
    if (Buffer.isBuffer(message)) this.#events.onMessage(message);
    else this.#events.onOversized(message.size, message.id, message.requestId);
  }

  #onStreamOver(error: GatewayError): void {
    if (this.#hasAnswer) {
      this.#finish();
    } else if (!this.#options.canResume || this.#cursor.lastEventId === '') {
      this.#request?.distrust();
      this.#giveUp(error, true);
    } else {
      const rounds = this.#cursor.retryMs === undefined ? this.#quietRounds : 0;
      this.#quietRounds += 1;
      this.#resumeLater(rounds);
    }
  }

  #resumeLater(tries: number): void {
    this.#timer = setTimeout(() => this.#resume(), reconnectDelayMs(tries, this.#cursor.retryMs));
  }

  #resume(): void {
    const headers = { accept: 'text/event-stream', 'last-event-id': this.#cursor.lastEventId };
    this.#request = this.#session.request({ method: 'GET', headers }, this.#answerToResume());
  }

  #answerToResume(): RemoteEvents {
    const parser = this.#parser();
    let isOpen = false;
    return {
      onAccepted: (head) => {
        isOpen = true;
        this.#failures = 0;
        if (mediaType(head) !== 'text/event-stream')
          this.#refuse('answered the resumption of a stream with something else than a stream');
      },
      onData: (chunk, turn) => parser.feed(chunk, turn),
      onEnd: () => this.#onStreamOver(new ConnectionLostError(this.#tale('ended before the answer'))),
      onRefused: (refusal) => {
        const error = refusalError(refusal, this.#options.redactor);
        if (this.#session.id !== undefined && isSessionGone(refusal, false))
          this.#onSessionGone(refusal, true);
        else if (isForGood(refusal.status)) this.#giveUp(error, true);
        else this.#onResumeFailed(error);
      },
      onFailed: (error) => {
        if (isOpen) this.#onStreamOver(error);
        else this.#onResumeFailed(error);
      },
    };

    /** 409 is what a server says that has not yet noticed that the stream broke. */
    function isForGood(status: number): boolean {
      return status < 500 && ![408, 409, 425, 429].includes(status);
    }
  }

  #onResumeFailed(error: GatewayError): void {
    this.#failures += 1;
    if (this.#failures < MAX_RESUME_FAILURES) this.#resumeLater(this.#failures);
    else
      this.#giveUp(
        new ConnectionLostError(this.#tale(`broke and could not be resumed: ${error.message}`)),
        true,
      );
  }

  #onRefused(refusal: Refusal): void {
    const { body, isWhole } = refusal;
    const isAnswer =
      isWhole && body.length <= this.#options.maxMessageBytes && this.#options.isAnswerTo(body, this.id);
    if (this.#session.id !== undefined && isSessionGone(refusal, isAnswer)) {
      this.#onSessionGone(refusal, false);
    } else if (isAnswer) {
      this.#deliver(withoutLineEnd(body), true);
      this.#finish();
    } else {
      this.#giveUp(refusalError(refusal, this.#options.redactor), mayBeCarriedOut(refusal.status));
    }
  }

  #onSessionGone(refusal: Refusal, wasCarriedOut: boolean): void {
    const error = sessionGoneError(refusal, this.#options.redactor);
    this.#giveUp(error, wasCarriedOut);
    this.#events.onSessionGone(error);
  }

  /** The server took the request, and broke the protocol in answering it. */
  #refuse(what: string): void {
    this.#giveUp(protocolError(this.#session.url, what, this.#options.redactor), true);
  }

  #giveUp(error: GatewayError, wasCarriedOut: boolean): void {
    if (this.#isOver) return;
    this.destroy();
    this.#events.onUndelivered(error, wasCarriedOut);
    this.#events.onOver();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.destroy();
    this.#events.onOver();
  }

  #tale(what: string): string {
    return this.#options.redactor.redact(`the stream from ${plainUrl(this.#session.url)} ${what}`);
  }
}

/** Trailing line ends belong to the transport; everything else is the message as received. */
function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}

/** A look through them all: it is needed only where a call is given up. */
export function callOf(calls: Iterable<HttpCall>, id: CallId): HttpCall | undefined {
  for (const call of calls) if (call.id === id) return call;
  return undefined;
}
