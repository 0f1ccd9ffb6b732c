import { pino } from 'pino'
import type { Config } from '../config/config.ts'

export type Logger = pino.Logger

/** Structured log lines (JSON) on standard error; secrets never go into a line, and known places of them are blotted out besides. */
export const createLogger = (level: Config['logLevel']): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: {
        paths: ['authorization', '*.authorization', 'headers.authorization', '*.api_key', '*.bearer_token', '*.secret'],
        censor: '[secret]',
      },
    },
    pino.destination({ fd: 2, sync: true }),
  )
