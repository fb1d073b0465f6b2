// Interface between the gateway's HTTP server and the webhook on a path, for all platforms.
//
// Cheap checks come first: method, announced size, required headers. Then the body is read, and verified as
// raw bytes before it is parsed. A 2xx is sent once the event is durable, or if there is nothing to store.

export interface WebhookRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly remoteAddress: string;
  /**
   * False if the HTTP parser may deliver a body that differs from the sent body (chunked encoding). The body
   * then needs a separate proof.
   */
  readonly isBodyExact: boolean;
  readonly requestId: string;
  readonly traceparent: string;
  /**
   * Reserves capacity for the received body of an unverified sender. Call it before any await. Returns the
   * release function; undefined if no capacity is free.
   */
  reserveBody(bytes: number): (() => void) | undefined;
}

export interface WebhookReply {
  readonly status: number;
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  /**
   * Objects are sent as JSON, strings as text/plain; from status 400 a string is the message of an error
   * body.
   */
  readonly body?: string | Readonly<Record<string, unknown>>;
}

export interface Webhook {
  readonly path: string;
  /** Accepted methods, for 405 responses and their Allow header. */
  readonly methods: ReadonlySet<string>;
  readonly maxBodyBytes: number;
  /** Checks the request before the body is read. Returns the response if the request needs no body. */
  admit(request: WebhookRequest): WebhookReply | undefined;
  /**
   * Handles the request with its body. Rejects with a GatewayError, whose status the server returns: 503 if
   * the store cannot write.
   */
  receive(request: WebhookRequest, body: Buffer): Promise<WebhookReply>;
  /** Frees the path for a webhook of another type. Returns false while a trigger uses this webhook. */
  releasePath?(): boolean;
}
