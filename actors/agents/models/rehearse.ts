// Sends a request to a stand-in for the provider. The request loads the client and initialises Node's fetch,
// which blocks the event loop for 100 ms. At the start this delays no client.

import type { ResolvedProvider } from '../../../config/gateway-file/providers.ts';
import { ModelExchange } from './exchange.ts';
import { ModelTraits } from './model-traits.ts';
import { ModelRequestParts } from './request-parts.ts';

const request = {
  system: '',
  messages: [{ role: 'user' as const, text: '-' }],
  tools: [{ name: 'tool', description: '', inputSchema: { type: 'object', properties: {} } }],
  mayCall: true,
  temperature: undefined,
  maxTokens: undefined,
  outputSchema: undefined,
};

/** Never rejects. A client that cannot be loaded fails the first run. */
export async function rehearse(settings: ResolvedProvider, model: string): Promise<void> {
  const traits = new ModelTraits();
  const { request: bare, forms } = new ModelRequestParts(request, settings.type, traits);
  const exchange = new ModelExchange({ limits: {}, hasNoKey: true, tools: [], send: answerNothing });
  try {
    const { askOnce } = await import('./send-request.ts');
    await askOnce(bare, forms, { settings, model, exchange, onText: undefined, traits });
  } catch {
  } finally {
    exchange.end();
  }
}

async function answerNothing(): Promise<Response> {
  // Initialises Node's fetch, without a connection.
  await fetch('data:,');
  return new Response('data: {}\n\ndata: [DONE]\n\n', { headers: { 'content-type': 'text/event-stream' } });
}
