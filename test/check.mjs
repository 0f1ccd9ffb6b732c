// All that guards a change: format, lint, types, unused code, then the tests. Ends with one line of counts.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const node = process.execPath

function run(title, command, args) {
  console.log(`\n— ${title}`)
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) {
    console.error(`${title} failed`)
    process.exitCode = 1
  }
  return status === 0
}

const isSound = [
  run('format and lint', node, ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']),
  run('types', node, ['node_modules/typescript/bin/tsc', '-b']),
  run('unused code', node, ['node_modules/knip/bin/knip.js', '--no-progress']),
].every(Boolean)

const folder = mkdtempSync(join(tmpdir(), 'wattledger-check-'))
const report = join(folder, 'tests.json')
run('tests', 'npm', [
  'test',
  '--',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  '--reporter=./test/support/test-run/file-times.ts',
])
const counts = JSON.parse(readFileSync(report, 'utf8'))
rmSync(folder, { recursive: true })
const skipped = counts.numPendingTests + counts.numTodoTests
if (!counts.success || counts.numTotalTests === 0) process.exitCode = 1
const failed = counts.numFailedTests + (isSound ? 0 : 1) + (counts.success || counts.numFailedTests > 0 ? 0 : 1)
console.log(`\n${counts.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
