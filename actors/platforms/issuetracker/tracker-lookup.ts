// Read request to the tracker, with a deadline and an error message that contains its purpose.

import type { ApiRequest, ApiResponse } from '../../../libs/rest/http-api.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformRefusal, requestError, responseError } from '../../events/outbox/platform-errors.ts';
import { messagesIn } from './errors.ts';

const LOOKUP_MS = 10_000;

/**
 * Sends a request to the tracker and returns the response with any status. Rejects without a response.
 */
export type SendTrackerRequest = (request: ApiRequest) => Promise<ApiResponse>;

export class TrackerLookup {
  readonly #send: SendTrackerRequest;
  readonly #purpose: string;

  /** `purpose` completes the message `could not …`: `check whether TES-41 matches jql_filter`. */
  constructor(send: SendTrackerRequest, purpose: string) {
    this.#send = send;
    this.#purpose = purpose;
  }

  /** Sends the request. Rejects with a DeliveryError. */
  async send(request: ApiRequest): Promise<ApiResponse> {
    try {
      return await this.#send({ timeoutMs: LOOKUP_MS, ...request });
    } catch (error) {
      throw this.#withPurpose(requestError(error, 'the request'));
    }
  }

  /** Returns the error for a response that is a failure or lacks the expected data. */
  faultOf(response: ApiResponse): DeliveryError {
    const { status, retryAfterMs, host, isOk } = response;
    return this.fault({ status, retryAfterMs, host, text: isOk ? undefined : messagesIn(response.json) });
  }

  fault(refusal: PlatformRefusal): DeliveryError {
    // Refusals of the tracker have a status and a text but no error code, so the table of codes is empty.
    return this.#withPurpose(responseError({}, refusal));
  }

  #withPurpose(cause: DeliveryError): DeliveryError {
    const message = `could not ${this.#purpose}: ${cause.message}`;
    return new DeliveryError(message, { ...cause, isOutcomeUnknown: false, cause });
  }
}
