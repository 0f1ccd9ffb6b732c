import { pino } from 'pino'
import type { Config } from '../config/config.ts'

export type Logger = pino.Logger

/**
 * Create a logger that writes JSON lines to standard error. Log calls contain no secrets.
 * Known secret fields are redacted too.
 */
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
