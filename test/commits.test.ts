import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { brokenHabits, type Commit, commitsAfter } from './support/repository/commit-habits.ts'

/** Last commit that is not checked. */
const lastUnchecked = '9898aa6ef1d26e231c9d4c29af47cbbaf870203d'

const commit = (subject: string, ...paths: readonly string[]): Commit => ({ hash: 'abc', subject, paths })

describe('the commits', () => {
  it('have short subjects, and tests beside features and fixes', ({ skip }) => {
    const commits = commitsAfter(lastUnchecked)
    if (commits === null) {
      process.stderr.write('skipped: the commits are not checked, because this checkout has no history\n')
      skip('this checkout has no history')
      return
    }
    const broken = commits.flatMap(one => brokenHabits(one).map(text => `${one.hash} ${one.subject}: ${text}`))
    expect(broken).toEqual([])
  })

  it.each([
    [commit('s'.repeat(73)), /73 characters/],
    [commit('feat(costs): add a bucket', 'services/domain/a.ts', 'docs/a.md'), /without a test/],
    [commit('fix: round half to even', 'services/domain/a.ts'), /without a test/],
  ])('are found if a habit is broken: %#', (one, fault) => {
    expect(brokenHabits(one)).toEqual([expect.stringMatching(fault)])
  })

  it.each([
    commit('s'.repeat(72)),
    commit('feat(costs): add a bucket', 'services/domain/a.ts', 'test/unit/domain/a.test.ts'),
    commit('fix(client): keep the digits', 'services/contract/a.ts', 'clients/python/tests/test_a.py'),
    commit('fix(docs): name the setting', 'docs/operations.md'),
    commit('refactor(costs): rename the bucket', 'services/domain/a.ts'),
  ])('pass otherwise: %#', one => {
    expect(brokenHabits(one)).toEqual([])
  })

  it('are listed after a commit, and unknown in a checkout without that commit', () => {
    const folder = mkdtempSync(join(tmpdir(), 'commits-'))
    const git = (...args: readonly string[]): string => {
      const person = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
      return execFileSync('git', [...person, ...args], { cwd: folder, encoding: 'utf8' }).trim()
    }
    git('init', '--quiet')
    for (const name of ['one', 'two', 'three']) {
      writeFileSync(join(folder, name), '')
      git('add', name)
      git('commit', '--quiet', '--message', `add ${name}`)
    }
    const [first, last] = [git('rev-parse', 'HEAD~2'), git('rev-parse', 'HEAD')]
    const subjects = commitsAfter(first, folder)?.map(({ subject, paths }) => [subject, ...paths])
    expect(subjects).toEqual([
      ['add three', 'three'],
      ['add two', 'two'],
    ])
    expect(commitsAfter(last, folder)).toEqual([])
    expect(commitsAfter('0'.repeat(40), folder)).toBe(null)
    rmSync(folder, { recursive: true })
  })
})
