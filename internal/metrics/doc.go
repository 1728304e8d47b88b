// Package metrics counts what happens in this process and reads what others
// counted, both in the Prometheus text exposition format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats). There is no global
// registry: whoever counts is handed one.
package metrics
