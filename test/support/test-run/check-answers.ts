import { afterAll } from 'vitest'
import { endChecks } from './answer-checks.ts'
import { newCpuSeconds } from './cpu-seconds.ts'

// Registered before the hooks of the file, so it runs after them: the processes of the file have ended.
// biome-ignore lint/correctness/noEmptyPattern: the runner requires a pattern for its fixtures.
afterAll(({}, { file }) => {
  file.meta.cpuSeconds = newCpuSeconds()
})

afterAll(async () => {
  const { codes, misfits } = await endChecks()
  if (misfits.length > 0)
    throw new Error(`These answers do not fit the shapes of their operations:\n${misfits.join('\n')}`)
  if (codes.length === 0) return
  throw new Error(
    `The OpenAPI documents do not list these answers. Add each code to its operation:\n${codes.join('\n')}`,
  )
})
