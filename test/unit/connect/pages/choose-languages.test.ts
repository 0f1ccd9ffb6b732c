import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { languageNames } from '../../../../services/connect/pages/languages.ts'
import { languagesInShort } from '../../../support/connect/choose-languages.ts'
import { seededRandom } from '../../../support/random.ts'
import { changedFiles } from '../../../support/test-run/changed-files.ts'
import { chooseCases } from '../../../support/test-run/short-form.ts'

const choose = (changed: readonly string[] | null, seed = 1) =>
  chooseCases(languagesInShort, changed, seededRandom(seed))

describe('the languages of a short run', () => {
  it('are German, the languages with changed texts, and two at random', () => {
    const chosen = choose(['services/connect/pages/texts/pl.json', 'services/domain/quantity.ts'])
    expect(chosen).toEqual(expect.arrayContaining(['de', 'pl']))
    expect(chosen).toHaveLength(4)
    expect(choose([])).toHaveLength(3)
  })

  it('come to all ten within few seeds', () => {
    const seen = new Set(Array.from({ length: 40 }, (_, seed) => choose([], seed)).flat())
    expect([...seen].toSorted()).toEqual([...languageNames].toSorted())
  })

  it.each([
    ['the style', ['services/connect/pages/connect.css']],
    ['a page', ['services/connect/pages/tariff-pages.js']],
    ['the test', ['test/system/connect/connect-languages.test.ts']],
    ['every text', languageNames.map(name => `services/connect/pages/texts/${name}.json`)],
    ['something unknown', null],
  ] as const)('are all ten after a change of %s', (_, changed) => {
    expect(choose(changed)).toEqual(languageNames)
  })
})

describe('the changed files', () => {
  const folder = join(tmpdir(), 'changed-files')
  const git = (...args: readonly string[]): void => {
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
    execFileSync('git', [...author, ...args], { cwd: folder, stdio: 'ignore' })
  }

  it('are those of later commits, of the working tree, and the new ones; null without the commit', () => {
    mkdirSync(folder)
    git('init')
    for (const name of ['first', 'second']) {
      writeFileSync(join(folder, name), name)
      git('add', '.')
      git('commit', '-m', name)
    }
    expect(changedFiles('HEAD~1', folder)).toEqual(['second'])
    writeFileSync(join(folder, 'first'), 'changed')
    writeFileSync(join(folder, 'new'), '')
    expect(changedFiles('HEAD~1', folder)).toEqual(['first', 'second', 'new'])
    expect(changedFiles('HEAD~10', folder)).toBeNull()
  })
})
