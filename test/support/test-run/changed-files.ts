import { execFileSync } from 'node:child_process'

const git = (args: readonly string[], folder: string): readonly string[] =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    .split('\n')
    .filter(path => path !== '')

/**
 * List the paths that differ from a commit, with files that git does not track yet. Without the commit or without git, the
 * answer is null: anything may have changed.
 */
export const changedFiles = (
  since = process.env['CHECK_SINCE'] ?? 'HEAD~10',
  folder = process.cwd(),
): readonly string[] | null => {
  try {
    return [
      ...git(['diff', '--name-only', '--no-renames', '--relative', since, '--'], folder),
      ...git(['ls-files', '--others', '--exclude-standard'], folder),
    ]
  } catch {
    return null
  }
}
