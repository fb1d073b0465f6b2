// HTTP client of the platform's cloud API. Messages, read marks and reactions use one endpoint per business
// number. The client does not retry: the API cannot tell if a message was sent, so the outbox decides.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { deliveryErrorOf } from './errors.ts';

const TIMEOUT_MS = 20_000;
/** Maximum response size; responses are small. */
const MAX_ANSWER_BYTES = 262_144;

export class BusinessMessengerApi {
  readonly #api: HttpApi;
  readonly #version: string;

  constructor({ config }: BusinessMessengerTrigger) {
    this.#version = config.api_version;
    this.#api = new HttpApi({
      baseUrl: config.graph_url,
      headers: { authorization: `Bearer ${config.bot_token}` },
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      secrets: [config.bot_token],
    });
  }

  /** Sends a request in the name of a number and returns the message id. Rejects with a DeliveryError. */
  async post(phoneNumberId: string, json: object, signal: AbortSignal): Promise<string> {
    const request = { method: 'POST', path: path`/${this.#version}/${phoneNumberId}/messages`, json, signal };
    const response = await this.#api.request(request).catch((error: unknown) => {
      throw requestError(error, 'a message');
    });
    const { json: body } = response;
    const id = textMember(body, 'messages.0.id');
    // A page from a proxy contains neither member; then nothing was sent. Responses to read marks contain no
    // id.
    if (response.isOk && (id !== undefined || memberOf(body, 'success') === true)) return id ?? '';
    throw deliveryErrorOf(response);
  }
}
