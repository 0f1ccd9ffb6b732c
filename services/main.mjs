import { enableCompileCache } from 'node:module'
import './thread-pool.mjs'
import './typescript-imports.mjs'

// The compile cache halves the start time. It must be enabled before any other import.
// This file is JavaScript, because Node would
// load its TypeScript compiler for a TypeScript entry point before the cache is enabled (80 ms).
enableCompileCache()
const { runService } = await import('./service.ts')
await runService(process.argv.slice(2), process.env)
