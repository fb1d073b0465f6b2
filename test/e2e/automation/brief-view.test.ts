// The brief view of the API: for clients with `?view=brief`, and always for the inspector, whose cookie
// grants less than the key.

import { beforeAll, describe, expect, test } from 'vitest';
import {
  agent,
  eventually,
  flow,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import {
  answerRow,
  askedRow,
  begunRow,
  storeRuns,
  toolApproval,
} from '../../fixtures/automation/stored-runs.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'the key of the operator';
const APPROVAL = '0a0a0a0a-0000-4000-8000-000000000001';
const parameter = { name: 'whom', description: SECRET, default: `user of ${SECRET}` };
const LONG = 'word '.repeat(10_000);

let gateway: GatewayProcess;
/** Delivery id; body and answer contain the secret. */
let dead = '';

beforeAll(async () => {
  const folder = temporaryFolder();
  await storeRuns(folder, [
    {
      id: 'pays',
      agent: 'shop',
      rows: [begunRow('Pay.'), askedRow(APPROVAL)],
      outcome: 'parked',
      asks: [toolApproval(APPROVAL, { to: 'bob', key: SECRET, hidden: '\u202etxt.exe', text: LONG })],
    },
    {
      id: 'fails',
      agent: 'till',
      key: `conversation/${SECRET}`,
      rows: [answerRow(1, SECRET)],
      outcome: 'dead',
      note: `${SECRET} ${LONG}`,
    },
  ]);
  const program = await startAgent(({ body }) => ({ text: `${body.input} ${LONG}` }));
  gateway = await startAutomation({
    folder,
    env: { HOOK_SECRET: SECRET, THE_KEY: KEY },
    settings: { api_key: `\${THE_KEY}` },
    servers: { echo: fault('echo') },
    resources: [
      trigger('orders', {
        type: 'HTTP',
        config: { path: '/hooks/orders', webhook_secret: `\${HOOK_SECRET}`, key: 'body:customer' },
        default_agent: 'clerk',
        commands: { page: { agent: 'clerk', description: SECRET, parameters: [parameter] } },
      }),
      httpAgent('clerk', program.url),
      agent('oncall', { model: 'ollama:tiny', mcp_servers: ['echo'], description: SECRET }),
      flow('shipping', {
        parameters: [parameter],
        nodes: [{ id: 'ask', type: 'Agent', description: SECRET, config: { agent: 'clerk', input: 'x' } }],
        connections: [],
      }),
    ],
  });
  await postHook(gateway.url, '/hooks/orders', { customer: `of ${SECRET}`, text: `${SECRET} ${LONG}` });
  await eventually(async () => {
    const { json } = await read('/deliveries?trigger=orders&state=done');
    expect(json.deliveries).toHaveLength(1);
    dead = json.deliveries[0].id;
  });
});

const withKey = { 'x-api-key': KEY };
const read = (path: string, headers: Readonly<Record<string, string>> = withKey) =>
  ask(`${gateway.url}${path}`, { headers });

const lists = ['/servers', '/runs', '/approvals', '/deliveries', '/triggers', '/agents', '/fleets', '/flows'];
const single = () => [
  ...['/servers/echo', '/runs/pays', `/approvals/${APPROVAL}`, '/triggers/orders', '/flows/shipping'],
  `/deliveries/${encodeURIComponent(dead)}`,
];

/** Names of the fields in every record. */
function fieldsOf(json: object): unknown {
  const [first] = Object.values(json);
  if (Array.isArray(first)) return first.map(fieldsOf);
  return Object.keys(json).filter((name) => name !== 'request');
}

describe('the brief view of records (?view=brief)', () => {
  test('has the fields of the full view, without secrets, and truncates long texts', async () => {
    for (const path of [...lists, ...single()]) {
      const [full, brief] = [await read(`${path}?view=full`), await read(`${path}?view=brief`)];
      expect([path, full.status, brief.status]).toEqual([path, 200, 200]);
      expect(full.text, path).toBe((await read(path)).text);
      expect(brief.text, path).not.toContain(SECRET);
      expect(brief.text.length, path).toBeLessThan(45_000);
      expect(fieldsOf(brief.json), path).toEqual(fieldsOf(full.json));
    }
  });

  test('truncates the body and the answer of a delivery with a mark, but not the id', async () => {
    const path = `/deliveries/${encodeURIComponent(dead)}`;
    const [full, brief] = [(await read(path)).json, (await read(`${path}?view=brief`)).json];
    expect([full.body.text.includes(SECRET), full.body.is_cut]).toEqual([true, false]);
    expect([brief.body.is_cut, brief.id]).toEqual([true, full.id]);
    expect(brief.body.text).toMatch(/\[redacted\] word .{19800,20000}…$/);
    expect(brief.body).toMatchObject({ bytes: full.body.bytes });
    expect([full.has_run, brief.has_run]).toEqual([false, false]);
    expect((await read('/deliveries/fails')).json.has_run).toBe(true);
    const { json } = await read('/runs?view=brief&state=failed');
    expect(json.runs).toMatchObject([
      { id: 'fails', conversation: 'conversation/[redacted]', steps_count: 1 },
    ]);
    expect(json.runs[0].note).toMatch(/^\[redacted\] word .{400,490}…$/);
  });

  test('shows a pending call with invisible characters escaped', async () => {
    const { json } = await read(`/approvals/${APPROVAL}?view=brief`);
    expect(json).toMatchObject({ tool: null, command: null, node: null, request: { is_cut: true } });
    expect(json.request.text).toContain('"key": "[redacted]"');
    expect(json.request.text).toContain('\\u202etxt.exe');
    const full = (await read(`/approvals/${APPROVAL}`)).json;
    expect([full.tool.arguments.to, 'request' in full]).toEqual(['bob', false]);
  });

  test('rejects the parameter raw=true, both with the API key and with the cookie', async () => {
    expect((await read('/runs/fails?raw=true')).json.steps[0].row.kind).toBe('answer');
    for (const path of ['/runs/fails?raw=true&view=brief', '/inspector/api/runs/fails?raw=true']) {
      const { status, json } = await read(path);
      expect([path, status, json.message]).toEqual([path, 400, expect.stringContaining('omit raw')]);
    }
  });

  test('is selected by the parameter view, and unknown values are rejected with the valid values', async () => {
    for (const path of [...lists, ...single()])
      for (const view of ['short', '', 'BRIEF', 'brief,full']) {
        const { status, json } = await read(`${path}?view=${view}`);
        expect([path, view, status]).toEqual([path, view, 400]);
        expect(json.message).toContain('view: unknown value');
        expect(json.message).toContain('valid values: full, brief');
      }
    expect((await read('/runs?view=brief&view=full')).json.message).toContain('give view once');
    expect((await read('/runs?view=brief&colour=red')).json.message).toContain('unknown parameter "colour"');
  });
});

describe('the API under /inspector/api', () => {
  const cookie = async () => {
    const { headers } = await ask(`${gateway.url}/inspector/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: gateway.url },
      body: new URLSearchParams({ key: KEY }).toString(),
    });
    return { cookie: headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '' };
  };

  test('returns brief records even for ?view=full, and needs the cookie or the API key', async () => {
    const page = await cookie();
    for (const path of [...lists, ...single()]) {
      expect((await read(`/inspector/api${path}`, {})).status).toBe(401);
      expect((await read(path, page)).status, path).toBe(401);
      const brief = await read(`${path}?view=brief`);
      for (const headers of [page, withKey]) {
        const full = await read(`/inspector/api${path}?view=full`, headers);
        expect([path, full.status, full.text]).toEqual([path, 200, brief.text]);
        expect(full.headers['x-content-type-options']).toBe('nosniff');
        expect(full.headers['cache-control']).toBe('no-store');
      }
    }
    expect((await read('/inspector/api/runs?view=short', page)).status).toBe(400);
  });

  test('serves only records: streams, MCP, statistics and actions return 404 or 403', async () => {
    const page = await cookie();
    for (const path of [
      ...['', '/', '/health', '/stats', '/logs', '/nodes', '/mcp', '/mcp/echo', '/rpc', '/admin/reload'],
      ...['/runs/pays/events', '/runs/pays/cancel', '/agents/clerk/runs', '/servers/echo/start'],
      ...['/inspector/api/runs', '//runs', '/runs/', '/runs/../stats', '/triggers/orders/run'],
    ])
      expect([path, (await read(`/inspector/api${path}`, page)).status]).toEqual([path, 404]);
    for (const path of ['/runs/pays/cancel', '/agents/clerk/runs', '/rpc', '/mcp', '/triggers/orders/send'])
      expect(
        (await ask(`${gateway.url}/inspector/api${path}`, { method: 'POST', headers: page })).status,
      ).toBe(403);
    expect((await read('/runs/pays')).json.state).toBe('waiting');
  });
});
