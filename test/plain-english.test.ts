import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Source } from './support/repository/import-boundaries.ts'
import { readProse } from './support/repository/plain-english.ts'

/** Files below `schemas/` are left out: a file that was applied keeps its bytes. */
const folders: readonly string[] = [
  ...globSync('services/*/').map(path => path.replace(/\/$/, '')),
  ...['deploy', 'docs', 'test', 'clients'],
]

const read = (folder: string): readonly Source[] =>
  globSync(`${folder}/**/*.{ts,js,mjs,css,yaml,md}`, {
    exclude: ['test/golden/**', 'test/acceptance/**', '**/{node_modules,generated,dist,.venv}/**'],
  }).map(path => ({
    path,
    text: readFileSync(path, 'utf8'),
  }))

/** Maximum number of hard sentences in 1,000. The rules flag some correct sentences. */
const maxRate = 15

describe('comments and documents', () => {
  it.each(folders)('are in plain English: %s', folder => {
    const { sentences, hard } = readProse(read(folder))
    expect(sentences).toBeGreaterThan(20)
    const listed = hard.map(({ path, line, reason, text }) => `${path}:${line} ${reason}: ${text}`)
    expect((1000 * hard.length) / sentences, listed.join('\n')).toBeLessThan(maxRate)
  })

  it.each([
    'Whoever called is told.',
    'Give the days of a month.',
    'What is left of a step.',
    'How many rows wait.',
    'The offset where the partition stands now, or where it stood.',
    'The row is put aside.',
    'It is no command.',
    'The worker begins anew.',
    'Stops after 15 s at the most.',
    `The worker ${'reads rows and '.repeat(12)}ends.`,
  ])('are found if they are hard to read: %s', sentence => {
    for (const text of [`/** ${sentence} */`, `  // ${sentence}`, `/**\n * ${sentence}\n */`])
      expect(readProse([{ path: 'services/x.ts', text }]).hard).toHaveLength(1)
    expect(readProse([{ path: 'docs/x.md', text: `# Rows\n\n${sentence}\n` }]).hard).toHaveLength(1)
  })

  it.each([
    'The caller receives the error and logs it.',
    'Return the days of a month.',
    'What does a record cost?',
    'Two devices are told apart by their ids.',
    'The route `what is it` answers 404.',
  ])('pass: %s', sentence => {
    expect(readProse([{ path: 'services/x.ts', text: `/** ${sentence} */\nconst whoever = 'anew'` }])).toEqual({
      sentences: 1,
      hard: [],
    })
  })
})
