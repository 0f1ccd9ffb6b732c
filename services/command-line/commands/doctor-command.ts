import { checkRecordPath } from '../check-record-path.ts'
import type { Command } from '../command.ts'
import { DiagnosticsStopped, startDiagnostics } from '../doctor.ts'
import { readTarget, targetOptions } from '../target.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  operands: [],
  summary: 'Walk one record through the running system and say where it stops.',
  details:
    'Asks for health, logs in, makes a location with a tariff in test mode, sends one record, waits until it is stored, and compares its\ncost. Everything is deleted again. Address and key come from sandbox.json in the data folder, unless they are named.',
  options: targetOptions,
  run: async input => {
    const target = readTarget(input)
    const diagnostics = startDiagnostics(input.onProgress)
    const startedAt = performance.now()
    let ok = true
    try {
      await checkRecordPath(diagnostics, target, input.at)
      input.onProgress(
        `\n  All is well: the record went through in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`,
      )
    } catch (error) {
      if (!(error instanceof DiagnosticsStopped)) throw error
      ok = false
    }
    return { ok, text: '', json: { ok, base_url: target.baseUrl, steps: diagnostics.steps } }
  },
}
