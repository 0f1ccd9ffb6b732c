import { enableCompileCache } from 'node:module'

// The cache of compiled modules halves the time to start; it must be on before anything else is imported.
enableCompileCache()
const { runService } = await import('./service.ts')
await runService(process.argv.slice(2), process.env)
