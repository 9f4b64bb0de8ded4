"""Derivatives of plain functions, measured: see the README of this package."""
