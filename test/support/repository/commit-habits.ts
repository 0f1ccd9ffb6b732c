import { execFileSync } from 'node:child_process'

export type Commit = { readonly hash: string; readonly subject: string; readonly paths: readonly string[] }

const maxSubject = 72

const git = (args: readonly string[], folder: string): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** List the commits after a commit, newest first, without merges. The answer is null without git or without the commit. */
export const commitsAfter = (first: string, folder = process.cwd()): readonly Commit[] | null => {
  try {
    git(['merge-base', '--is-ancestor', first, 'HEAD'], folder)
    const text = git(['log', '--no-merges', '--name-only', '--format=%x1e%h%n%s', `${first}..HEAD`], folder)
    return text
      .split('\x1e')
      .slice(1)
      .map(entry => {
        const [hash = '', subject = '', ...paths] = entry.split('\n').filter(line => line !== '')
        return { hash, subject, paths }
      })
  } catch {
    return null
  }
}

const isProduct = (path: string): boolean => path.startsWith('services/')
const isTest = (path: string): boolean => path.startsWith('test/') || /^clients\/[^/]+\/tests\//.test(path)

/** Return the broken habits of a commit: a long subject, and a feature or fix of the service without a test. */
export const brokenHabits = ({ subject, paths }: Commit): readonly string[] => [
  ...(subject.length > maxSubject ? [`The subject has ${subject.length} characters. ${maxSubject} are allowed.`] : []),
  ...(/^(?:feat|fix)\b/.test(subject) && paths.some(isProduct) && !paths.some(isTest)
    ? ['The commit changes the service without a test.']
    : []),
]
