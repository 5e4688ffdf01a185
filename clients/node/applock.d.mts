export * from "./applock.cjs";
