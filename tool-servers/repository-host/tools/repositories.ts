// Tools for repositories, branches and commits.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import {
  branch,
  newBranch,
  newRepositoryName,
  organization,
  paging,
  repository,
  revision,
} from '../arguments.ts';
import { readHead } from '../branch-head.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-error.ts';
import { commitResponse, commitShape } from '../shapes/commit.ts';
import { listOf } from '../shapes/fields.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { repositoryResponse, repositoryShape } from '../shapes/repository.ts';
import { addHints, ensureHints, jsonOutput, readHints } from './result.ts';

const MAX_DESCRIPTION_CHARS = 350;

export function repositoryTools(host: Host): ServerTool[] {
  return [
    createRepositoryTool(host),
    forkRepositoryTool(host),
    createBranchTool(host),
    listCommitsTool(host),
  ];
}

function createRepositoryTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_repository',
    title: 'Create a repository',
    description:
      'Creates a repository in the account of the token, public unless private is true. Without auto_init it is empty: create the first file with create_or_update_file, because push_files and create_branch require a commit.',
    input: z.strictObject({
      name: newRepositoryName,
      description: z.string().max(MAX_DESCRIPTION_CHARS).optional().describe('Description, one line.'),
      private: z.boolean().optional().describe('True for a private repository.'),
      auto_init: z.boolean().optional().describe('True to create an initial commit with a README.'),
    }),
    output: repositoryShape,
    hints: addHints,
    async run(input, call) {
      const { data } = await host.requestsFor(call).request('POST /user/repos', input, repositoryResponse);
      return jsonOutput(data);
    },
  });
}

function forkRepositoryTool(host: Host): ServerTool {
  return defineTool({
    name: 'fork_repository',
    title: 'Fork a repository',
    description:
      'Forks a repository into the account of the token or an organisation. The host does this in the background; files may be available after some minutes. An existing fork is returned.',
    input: z.strictObject({ ...repository, organization: organization.optional() }),
    output: z.object({
      repository: repositoryShape,
      notice: z.string().optional().describe('Note about the result.'),
    }),
    hints: ensureHints,
    async run(input, call) {
      const { data, status } = await host
        .requestsFor(call)
        .request('POST /repos/{owner}/{repo}/forks', input, repositoryResponse);
      const notice =
        status === 202
          ? 'The host is still copying. If a tool reports missing data, retry in a minute.'
          : undefined;
      return jsonOutput({ repository: data, notice });
    },
  });
}

function createBranchTool(host: Host): ServerTool {
  return defineTool({
    name: 'create_branch',
    title: 'Create a branch',
    description: 'Creates a branch at the newest commit of another branch. Other branches are unchanged.',
    input: z.strictObject({
      ...repository,
      branch: newBranch.describe('Name of the new branch.'),
      from_branch: branch.optional().describe('Source branch. Default: the default branch.'),
    }),
    output: z.object({ branch: z.string(), sha: z.string(), from_branch: z.string() }),
    hints: addHints,
    async run({ owner, repo, branch, from_branch }, call) {
      const requests = host.requestsFor(call);
      const from = from_branch ?? (await defaultBranch());
      const sha = await readHead(requests, { owner, repo, branch: from });
      try {
        await requests.request(
          'POST /repos/{owner}/{repo}/git/refs',
          { owner, repo, ref: `refs/heads/${branch}`, sha },
          z.unknown(),
        );
      } catch (error) {
        if (error instanceof HostRefusal && error.status === 422 && /already exists/i.test(error.reason))
          throw new ToolError(
            `The branch ${branch} already exists and was not changed. Use it, or choose another name.`,
          );
        throw error;
      }
      return jsonOutput({ branch, sha, from_branch: from });

      async function defaultBranch(): Promise<string> {
        const { data } = await requests.request(
          'GET /repos/{owner}/{repo}',
          { owner, repo },
          z.object({ default_branch: z.string() }),
        );
        return data.default_branch;
      }
    },
  });
}

function listCommitsTool(host: Host): ServerTool {
  return defineTool({
    name: 'list_commits',
    title: 'List commits',
    description:
      'Lists the commits of a branch, newest first, with message, author and date, without their changes.',
    input: z.strictObject({
      ...repository,
      sha: revision.optional().describe('Branch, tag or commit to start from. Default: the default branch.'),
      ...paging,
    }),
    output: pageShape(commitShape),
    hints: readHints,
    async run(input, call) {
      const { data, link } = await host
        .requestsFor(call)
        .request('GET /repos/{owner}/{repo}/commits', input, listOf(commitResponse));
      return jsonOutput({ items: data, ...positionOf(link, input.page) });
    },
  });
}
