import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const linter = [process.execPath, 'node_modules/@biomejs/biome/bin/biome'] as const

/** Return the rules that files break, by the settings of the project. */
const brokenRules = (files: Readonly<Record<string, string>>): readonly string[] => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-lint-'))
  try {
    copyFileSync('biome.json', join(folder, 'biome.json'))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const { stdout } = spawnSync(linter[0], [join(process.cwd(), linter[1]), 'lint', '--reporter=json', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly { category: string }[] }
    return [...new Set(diagnostics.map(({ category }) => category.replace('lint/', '')))]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it('finds files that import each other', () => {
  expect(brokenRules({ 'a.ts': "import './b.ts'\n", 'b.ts': "import './a.ts'\n" })).toEqual([
    'suspicious/noImportCycles',
  ])
})

it('finds a promise that is not awaited, also one of another file', () => {
  const store = 'export type Store = { readonly insert: (rows: number) => Promise<void> }\n'
  const floating =
    "import type { Store } from './a.ts'\nexport const save = (store: Store): void => {\n  store.insert(1)\n}\n"
  expect(brokenRules({ 'a.ts': store, 'b.ts': floating })).toEqual(['nursery/noFloatingPromises'])
  expect(brokenRules({ 'a.ts': store, 'b.ts': floating.replace('  store', '  void store') })).toEqual([])
})

it('finds a condition that is a promise', () => {
  const text = 'export const isIn = async (): Promise<boolean> => true\nif (isIn()) throw new Error()\n'
  expect(brokenRules({ 'a.ts': text })).toEqual(['nursery/noMisusedPromises'])
})

const lines = (count: number): string => Array.from({ length: count }, () => '  sum += 1\n').join('')

it('finds a function of 61 lines', () => {
  const sum = (count: number): string =>
    `export const sum = (): number => {\n  let sum = 0\n${lines(count)}  return sum\n}\n`
  expect(brokenRules({ 'a.ts': sum(59) })).toEqual(['complexity/noExcessiveLinesPerFunction'])
  expect(brokenRules({ 'a.ts': sum(58) })).toEqual([])
})
