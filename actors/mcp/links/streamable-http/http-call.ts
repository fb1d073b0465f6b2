// A request to a Streamable HTTP server: the POST and its response, as JSON or as an event stream. If the
// stream breaks before the response, it is resumed by GET with Last-Event-ID, in protocol revisions that
// support this (2025-11-25, Transports, "Resumability and redelivery"; removed in 2026-07-28). Completes with
// exactly one of: the response, `onUndelivered`, or `destroy` by the link.

import type { ListMember } from '../../../base/bounds/linked-list.ts';
import { ConnectionLostError, type GatewayError } from '../../../base/errors/errors.ts';
import { idNumber } from '../../jsonrpc/envelope.ts';
import type { LargeMessage } from '../../jsonrpc/large-message.ts';
import { reconnectDelayMs } from '../http/reconnect-delay.ts';
import {
  type ErrorResponse,
  mayHaveExecuted,
  pausedAnswerError,
  plainUrl,
  protocolError,
  refusalError,
  sessionLostError,
} from '../http/remote-errors.ts';
import type { RemoteEvents, RemoteRequest, RequestParts } from '../http/remote-request.ts';
import { mediaType, type RemoteOptions, type RemoteSession } from '../http/remote-session.ts';
import type { CallId } from '../link.ts';
import { MessageBuffer } from '../message-buffer.ts';
import { type SseCursor, SseParser } from '../sse/sse-parser.ts';
import { isLostInAnswer, isSessionLost } from './session-loss.ts';

const LF = 0x0a;
const CR = 0x0d;

const MAX_RESUME_FAILURES = 6;
/** Time after the response for the server to close the stream; then the socket is closed. */
const LINGER_MS = 1_000;

export interface HttpCallOptions extends Pick<RemoteOptions, 'maxMessageBytes' | 'redactor' | 'isAnswerTo'> {
  /** True if a broken stream is resumed after its last event; otherwise the call fails. */
  readonly canResume: boolean;
}

export interface HttpCallEvents {
  onMessage(bytes: Buffer): void;
  onOversized(size: number, id: string | undefined, requestId: string | undefined): void;
  /** The call failed. `mayHaveRun: false`: the server certainly did not execute it. */
  onUndelivered(error: GatewayError, mayHaveRun: boolean): void;
  onSessionLost(error: GatewayError): void;
  /** The call is complete and holds no request and no timer. Not called after `destroy`. */
  onOver(): void;
}

export class HttpCall implements ListMember<HttpCall> {
  /** Neighbours in the linked list of the link's calls. */
  previous: HttpCall | undefined;
  next: HttpCall | undefined;
  readonly id: CallId;
  readonly #session: RemoteSession;
  readonly #options: HttpCallOptions;
  readonly #events: HttpCallEvents;
  readonly #cursor: SseCursor = { lastEventId: '', retryMs: undefined };
  #request: RemoteRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Failed attempts to resume since the last success. */
  #failures = 0;
  /** Consecutive streams without new events. A server may let clients poll with many short streams. */
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

  /** True if the server has not accepted the request yet; the server may still reject the session. */
  get isUnanswered(): boolean {
    return !this.#isOver && !this.#isAccepted;
  }

  start(post: RequestParts): void {
    this.#request = this.#session.request(post, this.#postEvents());
  }

  destroy(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
  }

  #postEvents(): RemoteEvents {
    const { maxMessageBytes } = this.#options;
    let json: MessageBuffer | undefined;
    let stream: SseParser | undefined;
    return {
      onAccepted: (head) => {
        this.#isAccepted = true;
        this.#session.storeSessionId(head);
        const type = mediaType(head);
        if (head.status === 202 || head.status === 204)
          this.#refuse(`responded ${head.status} to a request, which must get a JSON-RPC response`);
        else if (type === 'text/event-stream') stream = this.#parser();
        else if (isJson(type)) json = new MessageBuffer(maxMessageBytes);
        else
          this.#refuse(
            `responded with content type ${JSON.stringify(type)} instead of JSON or an event stream`,
          );
      },
      // Returns the number of accepted bytes; fewer if `turn`, the time slice, expires.
      onData: (chunk, turn) => {
        json?.append(chunk);
        return stream?.feed(chunk, turn) ?? chunk.length;
      },
      onEnd: () => {
        if (json !== undefined) this.#onJson(json);
        else this.#onStreamOver(new ConnectionLostError(this.#describe('ended before the response')));
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
      this.#refuse('responded to a request with an empty body');
      return;
    }
    const message = body.take();
    this.#deliver(Buffer.isBuffer(message) ? withoutLineEnd(message) : message, true);
    if (this.#hasAnswer) this.#finish();
    else {
      this.#request?.retireConnection();
      const body = Buffer.isBuffer(message) ? message : undefined;
      this.#refuse('responded to a request with a message that is not its response', body);
    }
  }

  #parser(): SseParser {
    return new SseParser(this.#options.maxMessageBytes, this.#cursor, {
      onEvent: (type, data) => {
        if (type === 'message') this.#deliver(data);
      },
      onOversizedEvent: (_type, summary) => this.#deliver(summary),
    });
  }

  /** Reports a message. `isWholeBody`: the message is the body, so no event stream remains to be closed. */
  #deliver(message: Buffer | LargeMessage, isWholeBody = false): void {
    // The link may have destroyed the call while several events were delivered.
    if (this.#isOver) return;
    this.#quietRounds = 0;
    const isAnswer = Buffer.isBuffer(message)
      ? this.#options.isAnswerTo(message, this.id)
      : message.id !== undefined && idNumber(message.id) === this.id;
    if (isAnswer && !this.#hasAnswer) {
      if (Buffer.isBuffer(message) && this.#isLoss(message)) return;
      this.#hasAnswer = true;
      if (!isWholeBody) this.#timer = setTimeout(() => this.#finish(), LINGER_MS);
    }
    if (Buffer.isBuffer(message)) this.#events.onMessage(message);
    else this.#events.onOversized(message.size, message.id, message.requestId);
  }

  /** Returns true if an error response means a lost session, and reports it. */
  #isLoss(message: Buffer): boolean {
    const { id, url } = this.#session;
    if (id === undefined || !isLostInAnswer(message)) return false;
    this.#reportLoss(sessionLostError({ status: 200, url, body: message }, this.#options.redactor), false);
    return true;
  }

  #onStreamOver(error: GatewayError): void {
    if (this.#hasAnswer) {
      this.#finish();
    } else if (!this.#options.canResume || this.#cursor.lastEventId === '') {
      this.#request?.retireConnection();
      this.#giveUp(error, true);
    } else {
      // A `retry` of the server is its polling interval, which is not doubled.
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
    this.#request = this.#session.request({ method: 'GET', headers }, this.#resumeEvents());
  }

  #resumeEvents(): RemoteEvents {
    const parser = this.#parser();
    let isOpen = false;
    return {
      onAccepted: (head) => {
        isOpen = true;
        this.#failures = 0;
        if (mediaType(head) !== 'text/event-stream')
          this.#refuse('responded to the resumption of a stream with another content type');
      },
      onData: (chunk, turn) => parser.feed(chunk, turn),
      onEnd: () => this.#onStreamOver(new ConnectionLostError(this.#describe('ended before the response'))),
      onRefused: (refusal) => {
        const error = refusalError(refusal, this.#options.redactor);
        // The body is no JSON-RPC response, because the GET contains no JSON-RPC request.
        if (this.#session.id !== undefined && isSessionLost(refusal, false))
          this.#onSessionLost(refusal, true);
        else if (isPermanent(refusal.status)) this.#giveUp(error, true);
        else this.#onResumeFailed(error);
      },
      onFailed: (error) => {
        if (isOpen) this.#onStreamOver(error);
        else this.#onResumeFailed(error);
      },
    };

    /**
     * Returns true if another attempt cannot succeed. 409 comes from servers that have not noticed the broken
     * stream yet.
     */
    function isPermanent(status: number): boolean {
      return status < 500 && ![408, 409, 425, 429].includes(status);
    }
  }

  #onResumeFailed(error: GatewayError): void {
    this.#failures += 1;
    if (this.#failures < MAX_RESUME_FAILURES) this.#resumeLater(this.#failures);
    else
      this.#giveUp(
        new ConnectionLostError(this.#describe(`broke and could not be resumed: ${error.message}`)),
        true,
      );
  }

  #onRefused(refusal: ErrorResponse): void {
    const { body, isWhole } = refusal;
    const isAnswer =
      isWhole && body.length <= this.#options.maxMessageBytes && this.#options.isAnswerTo(body, this.id);
    if (this.#session.id !== undefined && isSessionLost(refusal, isAnswer)) {
      this.#onSessionLost(refusal, false);
      return;
    }
    const { redactor } = this.#options;
    const error = isAnswer ? pausedAnswerError(refusal, redactor) : refusalError(refusal, redactor);
    if (error !== undefined) this.#giveUp(error, mayHaveExecuted(refusal.status));
    else {
      this.#deliver(withoutLineEnd(body), true);
      this.#finish();
    }
  }

  #onSessionLost(refusal: ErrorResponse, mayHaveRun: boolean): void {
    this.#reportLoss(sessionLostError(refusal, this.#options.redactor), mayHaveRun);
  }

  #reportLoss(error: GatewayError, mayHaveRun: boolean): void {
    this.#giveUp(error, mayHaveRun);
    this.#events.onSessionLost(error);
  }

  /** Fails the call, because the server received the request but violated the protocol. */
  #refuse(what: string, body?: Buffer): void {
    this.#giveUp(protocolError(this.#session.url, what, this.#options.redactor, body), true);
  }

  /** Fails the call unless it is complete. */
  #giveUp(error: GatewayError, mayHaveRun: boolean): void {
    if (this.#isOver) return;
    this.destroy();
    this.#events.onUndelivered(error, mayHaveRun);
    this.#events.onOver();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.destroy();
    this.#events.onOver();
  }

  #describe(what: string): string {
    return this.#options.redactor.redact(`the stream from ${plainUrl(this.#session.url)} ${what}`);
  }
}

/** Removes trailing newlines, which are not part of the message. */
function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === LF || bytes[end - 1] === CR)) end -= 1;
  return bytes.subarray(0, end);
}

/** Returns the call with this id. Linear, because it is only used to cancel calls. */
export function findCall(calls: Iterable<HttpCall>, id: CallId): HttpCall | undefined {
  for (const call of calls) if (call.id === id) return call;
  return undefined;
}
