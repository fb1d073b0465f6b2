// From a signed webhook to a comment: an agent works with the file servers of this project and of third
// parties, and commits through the repository host server. All are real programs.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  fromVariable,
  MODEL,
  MODEL_KEY,
  offeredTools,
  requestMessages,
  requestToolResults,
  runsOf,
  startModelGateway,
  storedAndLoggedText,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually, trigger } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import type { Reply } from '../../fixtures/models/reply.ts';
import { type HostEvent, type LocalRepoHost, post } from '../../fixtures/repositories/local-repo-host.ts';
import { LocalRepoHostA } from '../../fixtures/repositories/local-repohost.ts';
import { serverFile } from '../../fixtures/rest-host/host-client.ts';
import { ReplayHost } from '../../fixtures/rest-host/replay-host.ts';
import { filesystemServer } from '../../fixtures/server/real-servers.ts';
import { filesystemProgram, testFolder } from '../../fixtures/tool-servers/filesystem-server.ts';

const sender: LocalRepoHost = new LocalRepoHostA();
const access = sender.access('shop');
const REPOSITORY = 'ada/shop';
/** File at the host, and the published commit. */
const FILE_SHA = 'f'.repeat(40);
const COMMIT_SHA = '18a43cd8e1e3a79c786e3d808a73d23b6d212b16';
const OPEN = 'Open from 9 to 5.\n';
const work = testFolder();
const file = join(work, 'hours.md');

let model: ModelServer;
let host: ReplayHost;
let gateway: GatewayProcess;

/** Scripted model: derives the next reply from the request alone. */
function next(request: RecordedRequest): Reply {
  const results = requestToolResults(request);
  const usage = { input: 100, output: 20 };
  const commentTexts = { owner: 'ada', repo: 'shop', path: 'hours.md' };
  switch (answersSoFar(request)) {
    case 0:
      return {
        text: 'I look at it.',
        usage,
        calls: [
          { name: 'read_file', input: { path: file } },
          { name: 'read_text_file', input: { path: file } },
          { name: 'get_file_contents', input: commentTexts },
        ],
      };
    case 1: {
      const [ours = '', theirs = '', hosts = ''] = results;
      if (![ours, theirs, hosts].every((text) => text.includes('9 to 5')))
        return { text: 'I cannot read it.' };
      const edits = [{ oldText: '9 to 5', newText: '9 to 7' }];
      return {
        text: ['Now ', 'I edit.'],
        usage,
        calls: [{ name: 'edit_file', input: { path: file, edits } }],
      };
    }
    case 2:
      return { usage, calls: [{ name: 'read_text_file', input: { path: file } }] };
    case 3: {
      const sha = /"sha":\s*"([0-9a-f]{40})"/.exec(
        requestMessages(request)
          .map(({ content }) => content)
          .join(),
      )?.[1];
      const input = {
        ...commentTexts,
        content: results[0],
        message: 'Open until seven',
        branch: 'main',
        sha,
      };
      return { usage, calls: [{ name: 'create_or_update_file', input }] };
    }
    default: {
      const sha = /"commit"[^}]*"sha":\s*"([0-9a-f]{40})"/.exec(results[0] ?? '')?.[1];
      return { text: ['We are open until seven, ', `since ${sha}.`], usage };
    }
  }
}

beforeAll(async () => {
  writeFileSync(file, OPEN);
  model = (await ModelServer.start()).answerWith(next);
  await sender.start();
  host = await ReplayHost.start();
  const content = Buffer.from(OPEN).toString('base64');
  host.on('GET /repos/{owner}/{repo}/contents/{path}', {
    body: { path: 'hours.md', content, sha: FILE_SHA },
  });
  const { token } = access;
  const files = { name: 'files', command: process.execPath, args: [filesystemProgram, work] };
  const desk = { name: 'desk', command: process.execPath, args: [serverFile] };
  gateway = await startModelGateway(model, {
    env: { TOKEN_OF_HOST: token },
    resources: [
      trigger('shop', {
        type: 'RepoHost',
        default_agent: 'keeper',
        config: {
          ...sender.config(access),
          token: fromVariable('TOKEN_OF_HOST'),
          commands_from: 'everyone',
        },
      }),
      agent('keeper', {
        model: MODEL,
        system_prompt: 'You keep the shop.',
        mcp_servers: [
          files,
          { name: 'others', ...filesystemServer(work) },
          {
            ...desk,
            env: {
              REPOHOST_PERSONAL_ACCESS_TOKEN: fromVariable('TOKEN_OF_HOST'),
              REPOHOST_API_URL: host.url,
            },
          },
        ],
        tools: [
          'files/read_file',
          'files/edit_file',
          'others/read_text_file',
          'get_file_contents',
          'create_or_update_file',
        ],
      }),
    ],
  });
});

afterAll(async () => {
  await host.stop();
  await sender.stop();
});

const asks: HostEvent = {
  kind: 'issue comment',
  repository: REPOSITORY,
  number: 1,
  text: 'We are open until 7 now. Please mend it.',
};
const shown = () => sender.comments(`${REPOSITORY}#1`);
const written = () => host.requestsMatching(/^(POST|PUT|PATCH)/);
const runId = 'repohost:shop/one';

test('a signed webhook leads to one read, edit and commit of a file, and to one comment on the issue', async () => {
  const delivery = sender.delivery(asks, access.secret, 'one');
  expect(await post(`${gateway.url}${access.path}`, delivery)).toBe(202);
  const run = await expectRunState(gateway, runId, 'done');
  // Commit and comment.
  expect(written()).toMatchObject([
    {
      method: 'PUT',
      url: `/repos/${REPOSITORY}/contents/hours.md`,
      headers: { authorization: `token ${access.token}` },
      body: {
        message: 'Open until seven',
        branch: 'main',
        sha: FILE_SHA,
        content: Buffer.from('Open from 9 to 7.\n').toString('base64'),
      },
    },
  ]);
  const answer = `We are open until seven, since ${COMMIT_SHA}.`;
  await eventually(() => expect(shown()).toEqual([{ text: answer, author: 'the-bot' }]));
  expect(readFileSync(file, 'utf8')).toBe('Open from 9 to 7.\n');
  expect(run).toMatchObject({
    answer,
    attempts: 1,
    name: 'keeper',
    trigger: 'shop',
    conversation: `conversation/repohost/${REPOSITORY}#1`,
    usage: { model: MODEL, iterations: 5, tool_calls: 6, input_tokens: 500, output_tokens: 100, cost: 0.002 },
  });
  const calls = (kind: string) => run.steps.filter((step) => step.kind === kind);
  expect(run.steps.map(({ kind }) => kind)).toEqual([
    ...['begun', 'answer', 'called', 'called', 'called', 'result', 'result', 'result'],
    ...['answer', 'called', 'result'],
    ...['answer', 'called', 'result'],
    ...['answer', 'called', 'result'],
    ...['answer', 'ended'],
  ]);
  expect(calls('result').map(({ state }) => state)).toEqual(Array(6).fill('done'));
  expect(new Set(calls('result').map(({ call }) => call))).toEqual(
    new Set(calls('called').map(({ call }) => call)),
  );
  const [first] = model.requests;
  expect(first?.headers.authorization).toBe(`Bearer ${MODEL_KEY}`);
  expect([...offeredTools(first as RecordedRequest)].sort()).toEqual([
    ...['create_or_update_file', 'edit_file', 'get_file_contents', 'read_file', 'read_text_file'],
  ]);
  expect(requestMessages(first as RecordedRequest)).toMatchObject([
    { role: 'system', content: expect.stringContaining('You keep the shop.') },
    { role: 'user', content: expect.stringContaining('Please mend it.') },
  ]);
});

test('the statistics of the agent include the run of the webhook', async () => {
  const { agents } = (await ask(`${gateway.url}/stats`)).json;
  expect(agents.keeper).toMatchObject({
    runs: 1,
    running: 0,
    failed: 0,
    iterations: 5,
    tool_calls: 6,
    input_tokens: 500,
    output_tokens: 100,
    cost: expect.closeTo(0.002),
  });
});

test('a redelivered webhook starts no second run: no model request and no write', async () => {
  const before = model.requests.length;
  const redelivery = sender.delivery(asks, access.secret, 'one');
  expect(await post(`${gateway.url}${access.path}`, redelivery)).toBe(200);
  // When the next new webhook is handled, the redelivery was handled.
  model.answerWith(() => ({ text: 'Nothing to do.' }));
  const other = sender.delivery({ ...asks, text: 'Thanks.' }, access.secret, 'two');
  expect(await post(`${gateway.url}${access.path}`, other)).toBe(202);
  await expectRunState(gateway, 'repohost:shop/two', 'done');
  // One delivery each. The second one is delayed by the rate limit of the host.
  const rows = await ask(`${gateway.url}/deliveries?source=outbox`);
  expect(rows.json.deliveries).toHaveLength(2);
  expect(shown()).toHaveLength(1);
  expect((await runsOf(gateway, 'keeper')).map(({ id }) => id).sort()).toEqual([runId, 'repohost:shop/two']);
  expect(model.requests).toHaveLength(before + 1);
  expect(written()).toHaveLength(1);
  // The conversation continues with the answer, but omits its tool calls.
  expect(requestMessages(model.requests.at(-1) as RecordedRequest).map(({ role }) => role)).toEqual([
    ...['system', 'user', 'assistant', 'user'],
  ]);
});

test('no secret is in the store, in a log or in a model request', async () => {
  const requestTexts = JSON.stringify(model.requests.map(({ body }) => body));
  const all = [
    storedAndLoggedText(gateway),
    requestTexts,
    JSON.stringify(await runsOf(gateway, 'keeper')),
  ].join('\n');
  expect(all).toContain('Open until seven');
  for (const secret of [access.token, access.secret, MODEL_KEY]) expect(all).not.toContain(secret);
});
