// Test bench of the incident manager: trigger, listener, fake platform, webhooks and answers.

import type { SendContext, SendReceipt } from '../../../../../actors/events/outbox/outbound.ts';
import type { Adapter, OpenTrigger } from '../../../../../actors/platforms/adapter.ts';
import {
  type IncidentManagerOptions,
  incidentManagerAdapter,
} from '../../../../../actors/platforms/incidentmanager/adapter.ts';
import type { NewEvent, StoredEvent } from '../../../../../actors/store/event.ts';
import type { IncidentManagerTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { adapterServices } from '../../../../fixtures/automation/adapter-services.ts';
import { rowsOfAnswer, sendRow } from '../../../../fixtures/automation/outbound.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { incidentManagerTrigger } from '../../../../fixtures/automation/triggers.ts';
import type { Members } from '../../../../fixtures/incident-platform/incident-payloads.ts';
import { IncidentPlatform } from '../../../../fixtures/incident-platform/incident-platform.ts';
import { WebhookSender } from '../../../../fixtures/incident-platform/webhook-sender.ts';

export const API_KEY = 'a-secret-rest-key';
export const ROUTING_KEY = 'a-secret-routing-key';
export const SECRET = 'a secret of the tests';
export const bot = { id: 'PBOT001', summary: 'Bot', email: 'bot@example.com' };
export const ada = { id: 'PADA001', summary: 'Ada', email: 'ada@example.com' };

type Config = Partial<IncidentManagerTrigger['config']>;

/** Credentials of triggers that answer with notes or with events. */
export const notes = { api_key: API_KEY, email: bot.email };
export const events = { routing_key: ROUTING_KEY };

export class IncidentBench {
  readonly host = new TestSourceHost();
  readonly platform = new IncidentPlatform({ apiKey: API_KEY, routingKey: ROUTING_KEY, users: [bot, ada] });
  readonly #opened: OpenTrigger[] = [];
  adapter: Adapter<IncidentManagerTrigger> = incidentManagerAdapter(adapterServices(this.host));
  trigger: IncidentManagerTrigger = incidentManagerTrigger('incidents');
  sender = new WebhookSender('', [SECRET]);

  async start(): Promise<this> {
    await Promise.all([this.host.start(), this.platform.start()]);
    return this;
  }

  async stop(): Promise<void> {
    await this.closeAll();
    await Promise.all([this.host.stop(), this.platform.stop()]);
  }

  async closeAll(): Promise<void> {
    for (const { close } of this.#opened.splice(0)) await close();
  }

  /** Opens a trigger for the following calls. */
  async open(config: Config = {}, name = 'incidents', options: Partial<IncidentManagerOptions> = {}) {
    if (Object.keys(options).length > 0)
      this.adapter = incidentManagerAdapter({ ...adapterServices(this.host), ...options });
    const { url } = this.platform;
    this.trigger = incidentManagerTrigger(name, { api_url: url, events_url: url, ...config });
    this.#opened.push(await this.adapter.open(this.trigger, this.host));
    this.sender.url = this.host.url + this.trigger.config.path;
    return this.trigger;
  }

  /** Sends a webhook; returns the accepted event. */
  async read(event: Members) {
    const { status } = await this.sender.send(event);
    if (status !== 202) throw new Error(`status ${status}`);
    return this.adapter.read(this.host.event());
  }

  /** Returns the rows of an answer to a webhook. */
  async rows(event: Members, text: string, data?: unknown): Promise<readonly NewEvent[]> {
    await this.read(event);
    return rowsOfAnswer(this.adapter, this.trigger, this.host.event(), text, data);
  }

  send(row: NewEvent, more: Partial<SendContext> & { readonly attempt?: number } = {}): Promise<SendReceipt> {
    const { attempt = 1, ...context } = more;
    const stored: StoredEvent = { ...row, seq: 2, at: Date.now(), attempt, crashes: 0 };
    return sendRow(this.adapter, this.trigger, stored, context);
  }

  /** Answers a webhook and sends all rows. */
  async answer(event: Members, text: string, data?: unknown): Promise<readonly SendReceipt[]> {
    const receipts: SendReceipt[] = [];
    for (const row of await this.rows(event, text, data)) receipts.push(await this.send(row));
    return receipts;
  }
}
