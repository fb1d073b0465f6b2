// Why something could not be sent. `message` stands in notes and logs and may be shown: it carries no secret.

export interface DeliveryErrorOptions extends ErrorOptions {
  /** What the platform calls it: a number of its own, a word, or the HTTP status. */
  readonly platformCode?: number | string | undefined;
  /** Trying again cannot help. */
  readonly isFinal?: boolean;
  /** Nothing is wrong but the time: it is sent later, and no attempt is counted. */
  readonly isTooSoon?: boolean;
  /** Of what is too soon: the platform was not asked, since it takes no more than we send already. */
  readonly isUnasked?: boolean;
  /** Not before this, as the platform asked. */
  readonly retryAfterMs?: number | undefined;
  /** It may have arrived all the same: the answer was lost. */
  readonly isOutcomeUnknown?: boolean;
  /** It says nothing of the message: there was no connection, no answer, or a fault of the platform's own. */
  readonly isPlatformDown?: boolean;
  /** The message that was to be edited is not there, or can be edited no more. */
  readonly isTargetGone?: boolean;
}

/** What `with` may change. */
export type DeliveryErrorChanges = Omit<DeliveryErrorOptions, 'cause'>;

export class DeliveryError extends Error {
  readonly code = 'ERR_DELIVERY';
  readonly platformCode: number | string | undefined;
  readonly isFinal: boolean;
  readonly isTooSoon: boolean;
  readonly isUnasked: boolean;
  readonly retryAfterMs: number | undefined;
  readonly isOutcomeUnknown: boolean;
  readonly isPlatformDown: boolean;
  readonly isTargetGone: boolean;

  constructor(message: string, options: DeliveryErrorOptions = {}) {
    super(message, options);
    this.platformCode = options.platformCode;
    this.isFinal = options.isFinal ?? false;
    this.isTooSoon = options.isTooSoon ?? false;
    this.isUnasked = options.isUnasked ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
    this.isPlatformDown = options.isPlatformDown ?? false;
    this.isTargetGone = options.isTargetGone ?? false;
  }

  /** The same but for `changes`, caused by this one. */
  with(changes: DeliveryErrorChanges): DeliveryError {
    return new DeliveryError(this.message, { ...this, ...changes, cause: this });
  }

  override get name(): string {
    return 'DeliveryError';
  }
}

/** A message has no form on that platform: it cannot be edited there, say. Final, and told at once. */
export class UnrenderableError extends DeliveryError {
  constructor(message: string) {
    super(message, { isFinal: true });
  }

  override get name(): string {
    return 'UnrenderableError';
  }
}
