// Tools and images that a provider refuses: the request is repeated without them, the operator is informed,
// and later requests omit them.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../../../actors/base/errors/log.ts';
import { failure } from '../../../../fixtures/models/failure.ts';
import {
  lookUp,
  modelRequest,
  modelsAt,
  providerTypes,
  requestModel,
} from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';
import { toolsIn } from '../../../../fixtures/models/schema-rules.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

interface Logged {
  readonly level: string;
  readonly fields: object;
}

/** A log that stores its lines. */
function recordingLog(): { readonly log: Log; readonly lines: Logged[] } {
  const lines: Logged[] = [];
  const at = (level: string) => (fields: object) => void lines.push({ level, fields });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { log: log as unknown as Log, lines };
}

const save = { ...lookUp, name: 'save' };
const secret = 'what a provider writes';

/** The refusal of the tool with this index, as the provider words it. */
const refusalOf = (type: string, index: number): Reply => {
  const bodies: Readonly<Record<string, object>> = {
    anthropic: {
      type: 'error',
      error: { type: 'invalid_request_error', message: `tools.${index}.custom.input_schema: ${secret}` },
    },
    google: {
      error: {
        code: 400,
        message: `* GenerateContentRequest.tools[0].function_declarations[${index}].parameters.properties[${secret}].items: missing field.`,
        status: 'INVALID_ARGUMENT',
      },
    },
  };
  const body = bodies[type] ?? {
    error: {
      message: `Invalid schema: ${secret}`,
      type: 'invalid_request_error',
      param: `tools[${index}].parameters`,
      code: 'invalid_function_parameters',
    },
  };
  return { status: 400, body: JSON.stringify(body) };
};
const detailsOf = (type: string, index: number) =>
  ({
    anthropic: `(invalid_request_error, tools.${index}.custom.input_schema)`,
    google: `(INVALID_ARGUMENT, tools[0].function_declarations[${index}].parameters.properties)`,
  })[type] ?? `(invalid_function_parameters, tools[${index}].parameters)`;

const offered = () =>
  server.requests.map(({ body }) => toolsIn(body as Record<string, unknown>).map(({ name }) => name));

describe.each(providerTypes)('a model of %s', (type) => {
  it('that refuses a tool is requested again without it, now and later', async () => {
    const { log, lines } = recordingLog();
    const models = modelsAt(server.url, { log });
    server.reply(refusalOf(type, 1), { text: 'We are open.' }, { text: 'Still open.' });
    const request = modelRequest({ tools: [save, lookUp] });
    const reason = `answered 400 ${detailsOf(type, 1)}: it refuses the name or the inputSchema of the tool look_up`;
    const answer = await requestModel(models, [type], request);
    expect(answer).toMatchObject({ text: 'We are open.', omitted: [{ tool: 'look_up', reason }] });
    expect(await requestModel(models, [type], request)).toMatchObject({ text: 'Still open.' });
    expect(offered()).toEqual([['save', 'look_up'], ['save'], ['save']]);
    const fields = { model: `${type}:m-1`, tool: 'look_up', reason };
    expect(lines).toEqual([{ level: 'warn', fields }]);
    // A changed tool is offered again.
    server.reply({ text: 'Yes.' });
    await requestModel(models, [type], modelRequest({ tools: [{ ...lookUp, description: 'Other.' }] }));
    expect(offered().at(-1)).toEqual(['look_up']);
  });

  it('that refuses every tool is requested without tools', async () => {
    server.reply(refusalOf(type, 0), refusalOf(type, 0), { text: 'We are open.' });
    const answer = await requestModel(modelsAt(server.url), [type], modelRequest({ tools: [save, lookUp] }));
    expect(answer.omitted?.map(({ tool }) => tool)).toEqual(['save', 'look_up']);
    expect(offered()).toEqual([['save', 'look_up'], ['look_up'], []]);
  });

  it('that still refuses the request without the tool fails, and the tool is offered next time', async () => {
    const models = modelsAt(server.url);
    server.reply(refusalOf(type, 0), { status: 400, message: secret }, { text: 'Yes.' });
    const request = modelRequest({ tools: [save, lookUp] });
    const error = await failure(requestModel(models, [type], request, { retries: 3 }));
    expect(error).toMatchObject({ isFinal: true });
    expect(error.message).not.toContain(secret);
    await requestModel(models, [type], request);
    expect(offered().at(-1)).toEqual(['save', 'look_up']);
  });

  it('receives no tool whose schema accepts nothing', async () => {
    const { log, lines } = recordingLog();
    server.reply({ text: 'Yes.' });
    const inputSchema = { type: 'object', properties: { word: false }, required: ['word'] };
    const request = modelRequest({ tools: [{ ...lookUp, inputSchema }, save] });
    await requestModel(modelsAt(server.url, { log }), [type], request);
    expect(offered()).toEqual([['save']]);
    expect(lines).toMatchObject([
      { level: 'warn', fields: { tool: 'look_up', reason: 'no arguments can match its inputSchema' } },
    ]);
  });
});

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const withImage = modelRequest({
  tools: [lookUp],
  messages: [
    { role: 'user', text: 'Look.' },
    { role: 'assistant', text: '', calls: [{ id: 'call_1_0', name: 'look_up', input: '{}' }] },
    {
      role: 'tool',
      results: [
        {
          id: 'call_1_0',
          name: 'look_up',
          text: '(image)',
          isError: false,
          images: [{ mediaType: 'image/png', data: png }],
        },
      ],
    },
  ],
});
const hasImage = () => server.requests.map(({ body }) => JSON.stringify(body).includes(png));

describe.each(providerTypes)('an image in a tool result for a model of %s', (type) => {
  it('is in the request, together with the text', async () => {
    server.reply({ text: 'Seen.' });
    await requestModel(modelsAt(server.url), [type], withImage);
    expect(hasImage()).toEqual([true]);
    expect(JSON.stringify(server.lastBody)).toContain('(image)');
  });

  it.each([
    [400, 'model does not support image input'],
    [400, secret],
    [404, 'No endpoints found that support image input'],
    [415, ''],
    [500, 'image input is not supported - hint: you may need to provide the mmproj'],
  ])('is replaced by its description if the provider responds %i: %s', async (status, message) => {
    const { log, lines } = recordingLog();
    const models = modelsAt(server.url, { log });
    server.reply({ status, message }, { text: 'Not seen.' }, { text: 'Not seen.' });
    for (let n = 0; n < 2; n++)
      expect(await requestModel(models, [type], withImage)).toMatchObject({ text: 'Not seen.' });
    expect(hasImage()).toEqual([true, false, false]);
    expect(lines).toEqual([{ level: 'warn', fields: { model: `${type}:m-1` } }]);
  });

  it('is not blamed for an error of another kind', async () => {
    server.reply({ status: 401 }, { status: 400, code: 'context_length_exceeded' });
    for (let n = 0; n < 2; n++) await failure(requestModel(modelsAt(server.url), [type], withImage));
    expect(hasImage()).toEqual([true, true]);
  });
});
