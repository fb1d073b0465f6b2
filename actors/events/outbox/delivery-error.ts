// Error of an attempt to send a message. Its text is shown in notes and logs, so it must contain no secret.

export interface DeliveryErrorOptions extends ErrorOptions {
  /** Error code of the platform, or the HTTP status. */
  readonly platformCode?: number | string | undefined;
  /** A retry cannot help. */
  readonly isFinal?: boolean;
  /** Rate limited: the message is sent later, and no attempt is counted. */
  readonly isRateLimited?: boolean;
  /** Rate limited by the gateway itself; the platform was not contacted. */
  readonly isUncontacted?: boolean;
  /** Minimum delay before the next attempt, as requested by the platform. */
  readonly retryAfterMs?: number | undefined;
  /** The message possibly arrived: the response was lost. */
  readonly isOutcomeUnknown?: boolean;
  /** No connection, no response, or an error of the platform itself, not caused by the message. */
  readonly isPlatformDown?: boolean;
  /** The message to edit no longer exists, or can no longer be edited. */
  readonly isTargetMissing?: boolean;
}

export type DeliveryErrorChanges = Omit<DeliveryErrorOptions, 'cause'>;

/**
 * A platform rejected a message or a request of the gateway, or did not respond. The gateway retries unless
 * the failure is final.
 *
 * @remedy Remove the cause stated in the note of the delivery, such as a missing right of the token, then
 * replay the delivery.
 */
export class DeliveryError extends Error {
  readonly code = 'ERR_DELIVERY';
  readonly platformCode: number | string | undefined;
  readonly isFinal: boolean;
  readonly isRateLimited: boolean;
  readonly isUncontacted: boolean;
  readonly retryAfterMs: number | undefined;
  readonly isOutcomeUnknown: boolean;
  readonly isPlatformDown: boolean;
  readonly isTargetMissing: boolean;

  constructor(message: string, options: DeliveryErrorOptions = {}) {
    super(message, options);
    this.platformCode = options.platformCode;
    this.isFinal = options.isFinal ?? false;
    this.isRateLimited = options.isRateLimited ?? false;
    this.isUncontacted = options.isUncontacted ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.isPlatformDown = options.isPlatformDown ?? false;
    this.isTargetMissing = options.isTargetMissing ?? false;
  }

  /** Returns a copy with `changes`, and this error as its cause. */
  with(changes: DeliveryErrorChanges): DeliveryError {
    return new DeliveryError(this.message, { ...this, ...changes, cause: this });
  }

  override get name(): string {
    return 'DeliveryError';
  }
}

/**
 * The platform does not support the message: for example, it cannot edit messages. Final. It is thrown when
 * the message is rendered, before any attempt.
 */
export class UnrenderableError extends DeliveryError {
  constructor(message: string) {
    super(message, { isFinal: true });
  }

  override get name(): string {
    return 'UnrenderableError';
  }
}
