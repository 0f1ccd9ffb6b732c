import { enableCompileCache } from 'node:module'

// The cache of compiled modules halves the time to start; it must be on before anything else is imported. A door in TypeScript would
// itself come too early for it and load the compiler: another 80 ms.
enableCompileCache()
const { runService } = await import('./service.ts')
await runService(process.argv.slice(2), process.env)
