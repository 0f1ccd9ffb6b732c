import { styleText } from 'node:util'

/** One step of a walk, as it ended; `ms` is how long it took. */
export type DiagnosticStep = {
  readonly step: string
  readonly ok: boolean
  readonly ms: number
  /** What was found, or what went wrong. */
  readonly message: string
  /** Where to look next; null for a step that went well. */
  readonly advice: string | null
}

/** A step failed: the walk ends here, and its steps tell why. */
export class DiagnosticsStopped extends Error {}

/** A walk through the system: each step is run, timed and told of, and the first one that fails stops it. */
export type Diagnostics = {
  readonly steps: readonly DiagnosticStep[]
  /** Run a step; `found` puts what it gave into a few words. Throws `WalkStopped`. */
  readonly step: <T>(
    name: string,
    advice: string,
    work: () => Promise<T>,
    describe?: (value: T) => string,
  ) => Promise<T>
}

const nameWidth = 22

const stepLine = ({ step, ok, ms, message }: DiagnosticStep): string => {
  const mark = ok ? styleText('green', '✓') : styleText('red', '✗')
  const time = `${Math.round(ms).toLocaleString('en')} ms`.padStart(9)
  return `  ${mark} ${step.padEnd(nameWidth)} ${styleText('dim', time)}  ${message}`.trimEnd()
}

/** Begin a walk; `tell` gets one line for each step as it ends, and the advice under a failed one. */
export const startDiagnostics = (onProgress: (line: string) => void): Diagnostics => {
  const steps: DiagnosticStep[] = []
  const finishStep = (result: DiagnosticStep): void => {
    steps.push(result)
    onProgress(stepLine(result))
    if (result.advice !== null) onProgress(`\n    ${result.advice}`)
  }
  return {
    steps,
    step: async (name, advice, work, describe = () => '') => {
      const startedAt = performance.now()
      try {
        const value = await work()
        finishStep({ step: name, ok: true, ms: performance.now() - startedAt, message: describe(value), advice: null })
        return value
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        finishStep({ step: name, ok: false, ms: performance.now() - startedAt, message, advice })
        throw new DiagnosticsStopped(message, { cause: error })
      }
    },
  }
}
