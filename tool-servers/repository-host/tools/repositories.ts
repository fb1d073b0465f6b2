// Repositories, branches and commits.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
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
import { headOf } from '../branch-head.ts';
import type { Host } from '../host.ts';
import { HostRefusal } from '../host-fault.ts';
import { commitShape, readCommit } from '../shapes/commit.ts';
import { pageShape, positionOf } from '../shapes/page.ts';
import { readList } from '../shapes/reading.ts';
import { readRepository, repositoryShape } from '../shapes/repository.ts';
import { adds, answer, ensures, reads } from './answer.ts';

const MAX_DESCRIPTION_CHARS = 350;

export function repositoryTools(host: Host): Tool[] {
  return [
    defineTool({
      name: 'create_repository',
      title: 'Create a repository',
      description:
        'Creates a repository in the account of the token, public unless private is true. Without auto_init it is empty: give it its first file with create_or_update_file, since push_files and create_branch need a commit to start from.',
      input: z.strictObject({
        name: newRepositoryName,
        description: z
          .string()
          .max(MAX_DESCRIPTION_CHARS)
          .optional()
          .describe('What it is for, in one line.'),
        private: z.boolean().optional().describe('Whether only invited people see it.'),
        auto_init: z.boolean().optional().describe('Whether it begins with a commit that holds a README.'),
      }),
      output: repositoryShape,
      hints: adds,
      async run(input, call) {
        const { data } = await host.during(call).ask('POST /user/repos', input, readRepository);
        return answer(data);
      },
    }),
    defineTool({
      name: 'fork_repository',
      title: 'Fork a repository',
      description:
        'Copies a repository into the account of the token or an organisation. The host does it in the background: the files may take some minutes to be there. Where a fork exists already, the host gives that one.',
      input: z.strictObject({ ...repository, organization: organization.optional() }),
      output: z.object({
        repository: repositoryShape,
        notice: z.string().optional().describe('What to know about this answer.'),
      }),
      hints: ensures,
      async run(input, call) {
        const { data, status } = await host
          .during(call)
          .ask('POST /repos/{owner}/{repo}/forks', input, readRepository);
        const notice =
          status === 202
            ? 'The host is still copying. If a tool says that something is missing there, call it again in a minute.'
            : undefined;
        return answer({ repository: data, notice });
      },
    }),
    defineTool({
      name: 'create_branch',
      title: 'Create a branch',
      description:
        'Creates a branch at the newest commit of another one. It copies no files by itself and changes no other branch.',
      input: z.strictObject({
        ...repository,
        branch: newBranch.describe("The new branch's name."),
        from_branch: branch.optional().describe('The branch it starts from. Left out: the default branch.'),
      }),
      output: z.object({ branch: z.string(), sha: z.string(), from_branch: z.string() }),
      hints: adds,
      async run({ owner, repo, branch, from_branch }, call) {
        const asking = host.during(call);
        const from = from_branch ?? (await defaultBranch());
        const sha = await headOf(asking, { owner, repo, branch: from });
        try {
          await asking.ask(
            'POST /repos/{owner}/{repo}/git/refs',
            { owner, repo, ref: `refs/heads/${branch}`, sha },
            z.unknown(),
          );
        } catch (error) {
          if (error instanceof HostRefusal && error.status === 422 && /already exists/i.test(error.reason))
            throw new ToolError(
              `The branch ${branch} exists already, and was left as it is. Use it, or choose another name.`,
            );
          throw error;
        }
        return answer({ branch, sha, from_branch: from });

        async function defaultBranch(): Promise<string> {
          const { data } = await asking.ask(
            'GET /repos/{owner}/{repo}',
            { owner, repo },
            z.object({ default_branch: z.string() }),
          );
          return data.default_branch;
        }
      },
    }),
    defineTool({
      name: 'list_commits',
      title: 'List commits',
      description:
        'Lists the commits of a branch, the newest first, each with its message, author and date; not what they changed.',
      input: z.strictObject({
        ...repository,
        sha: revision
          .optional()
          .describe('Where to begin: a branch, tag or commit. Left out: the default branch.'),
        ...paging,
      }),
      output: pageShape(commitShape),
      hints: reads,
      async run(input, call) {
        const { data, link } = await host
          .during(call)
          .ask('GET /repos/{owner}/{repo}/commits', input, readList(readCommit));
        return answer({ items: data, ...positionOf(link, input.page) });
      },
    }),
  ];
}
